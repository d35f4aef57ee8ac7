#include "exec/keeper/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>

namespace tutti {
namespace {

std::string read_proc(pid_t pid, const char* name) {
  std::array<char, 64> path{};
  snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(pid), name);
  const UniqueFd fd(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd) return text;
  std::array<char, 8192> part{};
  for (ssize_t n = 0; (n = read(fd.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

// The n-th field of /proc/PID/stat, counted as in proc(5), from 3 on: what stands before may hold
// blanks.
std::string_view stat_field(std::string_view stat, int n) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  stat.remove_prefix(name_end + 1);
  for (; n >= 3; --n) {
    const std::size_t begin = stat.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    stat.remove_prefix(begin);
    if (n == 3) return stat.substr(0, stat.find(' '));
    stat.remove_prefix(std::min(stat.find(' '), stat.size()));
  }
  return {};
}

template <typename Number>
Number number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void for_each_process(const std::function<void(pid_t)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return;
  while (const dirent* entry = readdir(folder.get())) {
    if (const pid_t pid = number<pid_t>(entry->d_name); pid > 0) visit(pid);
  }
}

std::string environment_value(pid_t pid, std::string_view prefix) {
  const std::string all = read_proc(pid, "environ");
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    if (variable.starts_with(prefix)) return std::string(variable.substr(prefix.size()));
    rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
  }
  return {};
}

std::int64_t resident_kib(pid_t pid) {
  static const std::int64_t page_kib = sysconf(_SC_PAGESIZE) / 1024;
  const std::string text = read_proc(pid, "statm");
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return 0;
  return number<std::int64_t>(std::string_view(text).substr(blank + 1)) * page_kib;
}

pid_t parent_of(pid_t pid) {
  return number<pid_t>(stat_field(read_proc(pid, "stat"), 4));
}

std::uint64_t start_ticks(pid_t pid) {
  return number<std::uint64_t>(stat_field(read_proc(pid, "stat"), 22));
}

bool is_dead(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const std::string_view state = stat_field(stat, 3);
  return state.empty() || state == "Z" || state == "X";
}

std::uint64_t ticks_now() {
  static const std::int64_t per_second = sysconf(_SC_CLK_TCK);
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec * per_second +
                                    now.tv_nsec * per_second / 1000000000);
}

ChildList::ChildList()
    : file_(open(("/proc/self/task/" + std::to_string(gettid()) + "/children").c_str(),
                 O_RDONLY | O_CLOEXEC)),
      text_(4096, '\0') {}

const std::vector<pid_t>& ChildList::read() {
  pids_.clear();
  if (!cheap()) {
    const pid_t self = getpid();
    for_each_process([&](pid_t pid) {
      if (parent_of(pid) == self) pids_.push_back(pid);
    });
    return pids_;
  }
  std::size_t size = 0;
  for (ssize_t n = 0; (n = pread(file_.get(), text_.data() + size, text_.size() - size,
                                 static_cast<off_t>(size))) > 0;) {
    size += static_cast<std::size_t>(n);
    if (size == text_.size()) text_.resize(2 * size);
  }
  for (const char *at = text_.data(), *end = at + size; at < end;) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (pid > 0) pids_.push_back(pid);
    at = parsed.ptr + 1;
  }
  return pids_;
}

}  // namespace tutti
