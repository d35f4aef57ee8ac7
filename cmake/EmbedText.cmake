# embed_script(TARGET SCRIPT HEADER NAME): builds a shell script below src/ into TARGET as the string NAME,
# which HEADER declares. Comments and indentation are left out, because it is sent or passed as it is.
function(embed_script target script header name)
  set(source "${CMAKE_SOURCE_DIR}/src/${script}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" SCRIPT_TEXT)
  # The new line in front is the one that a comment in the first line follows.
  string(REGEX REPLACE "\n[ \t]*(#[^\n]*)?" "\n" SCRIPT_TEXT "\n${SCRIPT_TEXT}")
  string(REGEX REPLACE "\n\n+" "\n" SCRIPT_TEXT "${SCRIPT_TEXT}")
  set(SCRIPT_HEADER "${header}")
  set(SCRIPT_NAME "${name}")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/shell_script.cc.in" "${CMAKE_BINARY_DIR}/${name}.cc" @ONLY)
  target_sources(${target} PRIVATE "${CMAKE_BINARY_DIR}/${name}.cc")
endfunction()

# embed_text(TARGET FILE HEADER NAME): the same of any text, as it is.
function(embed_text target file header name)
  set(source "${CMAKE_SOURCE_DIR}/src/${file}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" SCRIPT_TEXT)
  set(SCRIPT_HEADER "${header}")
  set(SCRIPT_NAME "${name}")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/shell_script.cc.in" "${CMAKE_BINARY_DIR}/${name}.cc" @ONLY)
  target_sources(${target} PRIVATE "${CMAKE_BINARY_DIR}/${name}.cc")
endfunction()
