#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// The environment that the process was started with, as /proc has it; empty when it cannot be read.
std::string process_environment(std::int64_t pid);
// Whether such an environment holds all of these "NAME=value", and there are any.
bool has_variables(std::string_view environment, const std::vector<std::string>& variables);

// Who a process is, for people.
struct ProcessDescription {
  std::string user;     // a number when there is no name; empty when the process is gone
  std::string command;  // one printable line, shortened
};
ProcessDescription describe_process(std::int64_t pid);

// A command line as /proc has it, for people: blanks for NULs, no control characters or bytes that
// are not UTF-8, at most 120 bytes.
std::string shown_command(std::string_view command_line);

}  // namespace tutti
