#pragma once

#include <string>
#include <vector>

namespace tutti {

// What one task executes: a program with its arguments, or text for a shell.
struct Command {
  std::vector<std::string> argv;  // executed directly when not empty
  std::string shell;              // otherwise: run by `bash -c` (`sh -c` where there is no bash)
  std::string script;             // otherwise: the text of a script, as it was at submission;
                                  // argv then holds the script's arguments after its name
  bool empty() const { return argv.empty() && shell.empty() && script.empty(); }
  bool operator==(const Command&) const = default;
};

}  // namespace tutti
