# Builds src/exec/ssh/agent.sh into tutti_exec as the string kAgentScript (exec/ssh/agent_script.h).
# It is sent with each connection, so that comments and indentation are left out.
set(agent "${CMAKE_SOURCE_DIR}/src/exec/ssh/agent.sh")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${agent}")
file(READ "${agent}" TUTTI_AGENT_SCRIPT)
# The new line in front is the one that a comment in the first line follows.
string(REGEX REPLACE "\n[ \t]*(#[^\n]*)?" "\n" TUTTI_AGENT_SCRIPT "\n${TUTTI_AGENT_SCRIPT}")
string(REGEX REPLACE "\n\n+" "\n" TUTTI_AGENT_SCRIPT "${TUTTI_AGENT_SCRIPT}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/agent_script.cc.in" "${CMAKE_BINARY_DIR}/agent_script.cc"
               @ONLY)
target_sources(tutti_exec PRIVATE "${CMAKE_BINARY_DIR}/agent_script.cc")
