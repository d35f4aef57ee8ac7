#pragma once

#include <string>

namespace tutti {

// Scripts that teach a shell the verbs, options and choices of the command table. Job numbers are
// asked of a running daemon; none is started for it.
std::string bash_completions();
std::string zsh_completions();
std::string fish_completions();

}  // namespace tutti
