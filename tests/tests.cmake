# What the unit tests need beyond their own component: the shared builders in tests/support, which are
# included by their path from the root, and the simulator.
foreach(name base core sim telemetry wire)
  if(TARGET unit_${name})
    target_include_directories(unit_${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  endif()
endforeach()
foreach(name core)
  if(TARGET unit_${name})
    target_link_libraries(unit_${name} PRIVATE tutti_sim)
  endif()
endforeach()
if(TARGET unit_sim)
  target_compile_definitions(unit_sim
                             PRIVATE TUTTI_SCENARIO_DIR="${CMAKE_SOURCE_DIR}/tests/scenario")
endif()
foreach(name sim wire)
  if(TARGET unit_${name})
    target_compile_definitions(
      unit_${name} PRIVATE TUTTI_BENCHMARK_FOLDER="${CMAKE_SOURCE_DIR}/../shared/data")
  endif()
endforeach()

# Drivers' libraries that say what a test tells them. They are opened at run time, by any program, so
# that no sanitizer's runtime may be needed.
if(TARGET unit_telemetry)
  foreach(fake fake_nvml fake_nvml_old fake_rocm_smi)
    string(REPLACE "_old" "" source ${fake})
    add_library(${fake} MODULE "${CMAKE_CURRENT_LIST_DIR}/support/${source}.cc")
    target_include_directories(${fake} PRIVATE "${CMAKE_SOURCE_DIR}")
    target_compile_options(${fake} PRIVATE -fno-sanitize=all -fvisibility=hidden)
    target_link_options(${fake} PRIVATE -fno-sanitize=all)
    target_link_libraries(${fake} PRIVATE tutti_warnings)
    string(TOUPPER ${fake} name)
    target_compile_definitions(unit_telemetry PRIVATE ${name}="$<TARGET_FILE:${fake}>")
    add_dependencies(unit_telemetry ${fake})
  endforeach()
  target_compile_definitions(fake_nvml_old PRIVATE FAKE_NVML_OLD)
  if(TARGET tutti_nvml_emulator)
    target_compile_definitions(
      unit_telemetry PRIVATE NVML_EMULATOR="$<TARGET_FILE:tutti_nvml_emulator>")
    add_dependencies(unit_telemetry tutti_nvml_emulator)
  endif()
endif()

if(TUTTI_FUZZ AND EXISTS "${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz.cmake")
  include("${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz.cmake")
endif()
