# Builds the programs of src/core/spec that ranks run into tutti_core as strings
# (core/spec/rank_programs.h): what they share, and then each one's own.
function(tutti_rank_program name constant)
  set(folder "${CMAKE_SOURCE_DIR}/src/core/spec")
  set(TUTTI_CONSTANT "${constant}")
  set(TUTTI_PROGRAM "")
  foreach(file "${folder}/rank_common.py" "${folder}/${name}.py")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    string(APPEND TUTTI_PROGRAM "${text}")
  endforeach()
  configure_file("${CMAKE_SOURCE_DIR}/cmake/rank_program.cc.in" "${CMAKE_BINARY_DIR}/${name}.cc" @ONLY)
  target_sources(tutti_core PRIVATE "${CMAKE_BINARY_DIR}/${name}.cc")
endfunction()

tutti_rank_program(ray_rank kRayRank)
tutti_rank_program(mpi_rank kMpiRank)
