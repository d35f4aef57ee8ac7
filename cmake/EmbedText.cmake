# embed_text(TARGET HEADER NAME FILE...): builds files below src/, one after the other, into TARGET as the
# string NAME, which HEADER declares.
function(embed_text target header name)
  read_embedded(text ${ARGN})
  embed_string(${target} "${header}" ${name} "${text}")
endfunction()

# embed_script(TARGET HEADER NAME FILE...): the same of a shell script. Comments and indentation are left out,
# because it is sent or passed as it is.
function(embed_script target header name)
  read_embedded(text ${ARGN})
  # The new line in front is the one that a comment in the first line follows.
  string(REGEX REPLACE "\n[ \t]*(#[^\n]*)?" "\n" text "\n${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  embed_string(${target} "${header}" ${name} "${text}")
endfunction()

function(read_embedded result)
  set(whole "")
  foreach(file ${ARGN})
    set(source "${CMAKE_SOURCE_DIR}/src/${file}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(READ "${source}" text)
    string(APPEND whole "${text}")
  endforeach()
  set(${result} "${whole}" PARENT_SCOPE)
endfunction()

function(embed_string target EMBEDDED_HEADER EMBEDDED_NAME EMBEDDED_TEXT)
  set(made "${CMAKE_BINARY_DIR}/${EMBEDDED_NAME}.cc")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/embedded_text.cc.in" "${made}" @ONLY)
  target_sources(${target} PRIVATE "${made}")
endfunction()
