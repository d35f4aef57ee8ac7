#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

// What /proc/PID/stat says of a process.
struct ProcessStat {
  char state = '?';  // 'Z' and 'X': dead
  std::int64_t parent = 0;
  std::int64_t session = 0;
  std::uint64_t start_ticks = 0;  // since boot; with the pid it names a process for ever
};

// Nothing when the process is gone.
std::optional<ProcessStat> process_stat(std::int64_t pid);
// Strict; for the text of such a file.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// A file of /proc/PID, at most so many bytes of it; empty when it cannot be read.
std::string read_proc(std::int64_t pid, const char* name, std::size_t most);

}  // namespace tutti
