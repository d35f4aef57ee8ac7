#include "exec/keeper/enforcement.h"

#include <sys/wait.h>
#include <unistd.h>

#include "exec/keeper/cgroups.h"

namespace tutti {
namespace {

// Whether a process can really enter the group.
bool can_enter(const Cgroup& group) {
  const std::vector<int> entries = group.entries();
  const pid_t child = fork();
  if (child == 0) {
    for (const int fd : entries) {
      if (write(fd, "0", 1) != 1) _exit(1);
    }
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

const char* enforcement_mode_name(Enforcement::Mode mode) {
  switch (mode) {
    case Enforcement::Mode::kCgroup2:
      return "cgroup v2";
    case Enforcement::Mode::kCgroup1:
      return "cgroup v1";
    case Enforcement::Mode::kWatched:
      break;
  }
  return "process group";
}

Enforcement detect_enforcement() {
  Enforcement found;
  found.text =
      "no writable control groups: memory is checked once a second, CPU limits are only counted";
  const CgroupPlace place = find_cgroup_place();
  if (!place.any()) return found;
  CgroupPool pool(place, "probe-" + std::to_string(getpid()));
  Result<std::unique_ptr<Cgroup>> group = pool.take(MilliCpu(1000), MiB(64));
  if (!group) return found;
  const bool entered = can_enter(**group);
  pool.give_back(std::move(*group));
  if (!entered) return found;
  const bool unified = !place.unified.empty();
  found.mode = unified ? Enforcement::Mode::kCgroup2 : Enforcement::Mode::kCgroup1;
  found.cpu = unified || !place.cpu.empty();
  const bool memory = unified || !place.memory.empty();
  found.text = std::string("control groups version ") + (unified ? "2" : "1") + ": memory limits " +
               (memory ? "by the kernel" : "checked once a second") + ", CPU limits " +
               (found.cpu ? "by the kernel" : "only counted");
  return found;
}

}  // namespace tutti
