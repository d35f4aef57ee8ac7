#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// What /proc/PID/stat says that attribution needs.
struct ProcessStat {
  std::int64_t parent = 0;
  std::int64_t session = 0;
  std::uint64_t start_ticks = 0;  // since boot; with the pid it names a process for ever
};

// Nothing when the process is gone.
std::optional<ProcessStat> process_stat(std::int64_t pid);
// Strict; for the text of such a file.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

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
