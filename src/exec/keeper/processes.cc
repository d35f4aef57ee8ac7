#include "exec/keeper/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "base/process_stat.h"

namespace tutti {
namespace {

// Environments may be large; this is more than the kernel's usual limit.
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

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

bool reads_pipe(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) return false;
  while (const dirent* entry = readdir(folder.get())) {
    // The link's own mode says how it is open.
    struct stat link {};
    struct stat file {};
    if (fstatat(dirfd(folder.get()), entry->d_name, &link, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISLNK(link.st_mode) || (link.st_mode & S_IRUSR) == 0) continue;
    if (fstatat(dirfd(folder.get()), entry->d_name, &file, 0) == 0 && S_ISFIFO(file.st_mode))
      return true;
  }
  return false;
}

std::string environment_value(pid_t pid, std::string_view prefix) {
  const std::string all = read_proc(pid, "environ", kMostBytes);
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    if (variable.starts_with(prefix)) return std::string(variable.substr(prefix.size()));
    rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
  }
  return {};
}

std::int64_t resident_kib(pid_t pid) {
  static const std::int64_t page_kib = sysconf(_SC_PAGESIZE) / 1024;
  const std::string text = read_proc(pid, "statm", kMostBytes);
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return 0;
  return number<std::int64_t>(std::string_view(text).substr(blank + 1)) * page_kib;
}

pid_t parent_of(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat ? static_cast<pid_t>(stat->parent) : 0;
}

std::uint64_t start_ticks(pid_t pid) {
  const auto stat = process_stat(pid);
  return stat ? stat->start_ticks : 0;
}

bool is_dead(pid_t pid) {
  const auto stat = process_stat(pid);
  return !stat || stat->state == 'Z' || stat->state == 'X';
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
