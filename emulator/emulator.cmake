# Emulated GPUs: a libnvidia-ml.so.1 whose devices live in a shared file, and a program that uses
# them as a training job would. Both stand in <build>/emulator; the program is also beside tutti, so
# that whoever has that on PATH has this one too.

set(TUTTI_EMULATOR_SOURCES
  emulator/api.cc
  emulator/gpu_file.cc
  emulator/gpu_spec.cc
  emulator/gpu_use.cc
  emulator/nvml_devices.cc
  emulator/nvml_readings.cc
  emulator/nvml_session.cc
  emulator/nvml_usage.cc
  emulator/process_life.cc
  src/base/check.cc
  src/base/nearest.cc
  src/base/result.cc)
list(TRANSFORM TUTTI_EMULATOR_SOURCES PREPEND "${CMAKE_SOURCE_DIR}/")

# Programs that were never built for it load this library: it needs libc only, exports nothing but
# its interface, and is free of sanitizers, whose runtime such a program has not got.
add_library(tutti_nvml_emulator SHARED ${TUTTI_EMULATOR_SOURCES})
set_target_properties(tutti_nvml_emulator PROPERTIES
  OUTPUT_NAME nvidia-ml
  PREFIX lib
  SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/emulator"
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/exports.map")
target_compile_options(tutti_nvml_emulator PRIVATE -fno-sanitize=all)
target_link_options(tutti_nvml_emulator PRIVATE
  -fno-sanitize=all -static-libstdc++ -static-libgcc -Wl,--no-undefined
  "-Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map")

# The same sources for our own programs, with whatever sanitizer the build has.
add_library(tutti_emulated_gpus STATIC ${TUTTI_EMULATOR_SOURCES})

add_executable(tutti-gpu-emulator
  "${CMAKE_CURRENT_LIST_DIR}/arguments.cc"
  "${CMAKE_CURRENT_LIST_DIR}/out_of_memory_text.cc"
  "${CMAKE_CURRENT_LIST_DIR}/program.cc"
  "${CMAKE_CURRENT_LIST_DIR}/show.cc"
  "${CMAKE_CURRENT_LIST_DIR}/visible_devices.cc"
  "${CMAKE_CURRENT_LIST_DIR}/work.cc"
  "${CMAKE_CURRENT_LIST_DIR}/work_options.cc")
set_target_properties(tutti-gpu-emulator PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/emulator")
add_custom_command(TARGET tutti-gpu-emulator POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink emulator/tutti-gpu-emulator
          "${CMAKE_BINARY_DIR}/tutti-gpu-emulator")
if(NOT TUTTI_SANITIZE)
  target_link_options(tutti-gpu-emulator PRIVATE -static-libstdc++ -static-libgcc -no-pie)
endif()

foreach(target tutti_nvml_emulator tutti_emulated_gpus tutti-gpu-emulator)
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE tutti_warnings)
  target_compile_definitions(${target} PRIVATE TUTTI_VERSION="${PROJECT_VERSION}")
endforeach()
target_link_libraries(tutti_emulated_gpus PUBLIC Threads::Threads)
target_link_libraries(tutti-gpu-emulator PRIVATE tutti_emulated_gpus)

# `tutti daemon --emulate-gpus` loads the library from the folder beside the program.
add_dependencies(tutti tutti_nvml_emulator tutti-gpu-emulator)

if(TUTTI_TESTS)
  add_executable(unit_emulator "${CMAKE_CURRENT_LIST_DIR}/visible_devices.cc"
                               "${CMAKE_CURRENT_LIST_DIR}/emulator_test.cc"
                               "${CMAKE_CURRENT_LIST_DIR}/gpu_spec_test.cc"
                               "${CMAKE_CURRENT_LIST_DIR}/nvml_test.cc")
  target_link_libraries(unit_emulator PRIVATE tutti_emulated_gpus tutti_unit_test)
  gtest_discover_tests(unit_emulator TEST_PREFIX "emulator/" DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS unit)
endif()
