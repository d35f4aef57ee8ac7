# Builds src/core/spec/ray_rank.py into tutti_core as the string kRayRank (core/spec/ray_command.h).
set(ray_rank "${CMAKE_SOURCE_DIR}/src/core/spec/ray_rank.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ray_rank}")
file(READ "${ray_rank}" TUTTI_RAY_RANK)
configure_file("${CMAKE_CURRENT_LIST_DIR}/ray_rank.cc.in" "${CMAKE_BINARY_DIR}/ray_rank.cc" @ONLY)
target_sources(tutti_core PRIVATE "${CMAKE_BINARY_DIR}/ray_rank.cc")
