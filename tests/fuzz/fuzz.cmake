# add_fuzz_target(NAME SOURCE LIBS...) builds one libFuzzer program. Does nothing unless TUTTI_FUZZ is
# on; the compiler must then be clang, and the libraries be built with -fsanitize=fuzzer-no-link.
function(add_fuzz_target name source)
  if(NOT TUTTI_FUZZ)
    return()
  endif()
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE ${ARGN} tutti_warnings -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY TUTTI_FUZZ_TARGETS ${name})
endfunction()

foreach(parser job_file manifest batch_file command_line quantity gitignore script machine)
  add_fuzz_target(fuzz_${parser} "${CMAKE_CURRENT_LIST_DIR}/fuzz_${parser}.cc" tutti_core)
endforeach()

add_fuzz_target(fuzz_job_json "${CMAKE_CURRENT_LIST_DIR}/fuzz_job_json.cc" tutti_wire)
add_fuzz_target(fuzz_http "${CMAKE_CURRENT_LIST_DIR}/fuzz_http.cc" tutti_api)
foreach(peer keeper_frame agent_line)
  add_fuzz_target(fuzz_${peer} "${CMAKE_CURRENT_LIST_DIR}/fuzz_${peer}.cc" tutti_exec)
endforeach()
add_fuzz_target(fuzz_event_codec "${CMAKE_CURRENT_LIST_DIR}/fuzz_event_codec.cc" tutti_store)
foreach(tool nvidia_smi rocm_smi)
  add_fuzz_target(fuzz_${tool} "${CMAKE_CURRENT_LIST_DIR}/fuzz_${tool}.cc" tutti_telemetry)
endforeach()
