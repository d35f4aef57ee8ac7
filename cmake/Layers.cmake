# The one place where allowed dependencies between components are written.
#
#   add_component(core USES base)
#
# declares the static library tutti_core from src/core and links what it uses. A use that the table
# below does not allow stops the configuration. tools/check-layers reads the same table and checks
# every #include against it.

# component | may use
set(TUTTI_LAYERS
  "base|"
  "core|base"
  "control|base core"
  "store|base core control"
  "exec|base core control telemetry"
  "telemetry|base core control"
  "wire|base core"
  "api|base core control wire"
  "client|base core wire"
  "cli|base core wire client"
  "sim|base core control"
  "daemon|base core control store exec telemetry wire api"
)

function(tutti_allowed_uses component out)
  foreach(row IN LISTS TUTTI_LAYERS)
    string(REPLACE "|" ";" cells "${row};")
    list(GET cells 0 name)
    if(name STREQUAL component)
      list(GET cells 1 uses)
      string(REPLACE " " ";" uses "${uses}")
      set(${out} "${uses}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "component '${component}' is not in the table of cmake/Layers.cmake")
endfunction()

# What most files include; presets with unit tests compile it once. That every header includes what it
# needs is seen to by tools/check-headers.
set(TUTTI_COMMON_HEADERS
  <algorithm> <array> <compare> <cstddef> <cstdint> <filesystem> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# The first target compiles the headers, the others use its result.
function(tutti_precompile target first)
  if(NOT TUTTI_PRECOMPILED_HEADERS)
    return()
  elseif(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# Folders whose files are never united: each verb calls its options, examples and function alike.
set(TUTTI_FOLDERS_APART verbs)

# With TUTTI_UNITE_FOLDERS the sources of a folder are compiled as one, so that what they include is
# read and instantiated once. They share one unnamed namespace then. Folders, not batches of a size: a
# new file changes no other unit, and two equal names are found by the change that brings the second.
function(tutti_unite target)
  if(NOT TUTTI_UNITE_FOLDERS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes united sources for headers, whose types may not have parts from an unnamed namespace.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME group)
    if(NOT group IN_LIST TUTTI_FOLDERS_APART)
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()

# Sources are globbed: a new file in a component's folder belongs to it. Files that end in _test.cc
# become the component's unit test program, TUTTI_UNIT_<name>.
function(add_component name)
  cmake_parse_arguments(ARG "" "" "USES;LIBRARIES" ${ARGN})
  tutti_allowed_uses(${name} allowed)
  foreach(use IN LISTS ARG_USES)
    if(NOT use IN_LIST allowed)
      message(FATAL_ERROR "component '${name}' may not use '${use}': see cmake/Layers.cmake")
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(linked ${ARG_USES})
  list(TRANSFORM linked PREPEND "tutti_")
  add_library(tutti_${name} STATIC ${sources})
  target_include_directories(tutti_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(tutti_${name} PUBLIC ${linked} ${ARG_LIBRARIES} PRIVATE tutti_warnings)
  tutti_unite(tutti_${name} ${sources})
  tutti_precompile(tutti_${name} tutti_base ${TUTTI_COMMON_HEADERS})

  if(TUTTI_TESTS AND tests)
    add_executable(unit_${name} ${tests})
    # Beside an optimised program only those are built that somebody asks for.
    set_target_properties(unit_${name} PROPERTIES EXCLUDE_FROM_ALL ${TUTTI_BENCH})
    target_link_libraries(unit_${name} PRIVATE tutti_${name} tutti_unit_test)
    tutti_unite(unit_${name} ${tests})
    tutti_precompile(unit_${name} unit_base ${TUTTI_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
    gtest_discover_tests(unit_${name} TEST_PREFIX "${name}/" DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS unit)
  endif()
endfunction()
