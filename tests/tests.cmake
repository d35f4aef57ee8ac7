# What the unit tests need beyond their own component: the shared builders in tests/support, which are
# included by their path from the root, and the simulator.
foreach(name base core sim)
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

if(TUTTI_FUZZ AND EXISTS "${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz.cmake")
  include("${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz.cmake")
endif()
