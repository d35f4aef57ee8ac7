#include "daemon/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>

namespace tutti {
namespace {

std::int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1);
}

std::int64_t limit_in(const char* path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

Machine this_machine() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') name = {"localhost"};
  const std::int64_t physical = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  const std::int64_t bytes = std::min({physical, limit_in("/sys/fs/cgroup/memory.max"),
                                       limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
  return {name.data(), MilliCpu(usable_cores() * 1000), MiB(bytes / (1024 * 1024))};
}

}  // namespace tutti
