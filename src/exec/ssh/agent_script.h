#pragma once

namespace tutti {

// The functions that the shell at the other end of an SSH connection is given before anything else:
// agent.sh and probe.sh without their comments, built in by cmake/EmbedText.cmake. It writes
// nothing by itself.
extern const char kAgentScript[];

}  // namespace tutti
