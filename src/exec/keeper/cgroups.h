#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace tutti {

// Where control groups can be made: one folder of a unified hierarchy, or one for each of the two
// old ones. An empty path: not there.
struct CgroupPlace {
  std::string unified;
  std::string memory;
  std::string cpu;
  bool any() const { return !unified.empty() || !memory.empty() || !cpu.empty(); }
};

// Looks only; whether a group can really be made and entered shows when one is made.
CgroupPlace find_cgroup_place();

// What the kernel is told of a CPU limit: so much time in each period.
struct CpuQuota {
  std::int64_t quota_us = 0;
  std::int64_t period_us = 0;
};
CpuQuota cpu_quota(MilliCpu cpus);

// Whether an error of making or entering a group means that the next try would fail likewise.
bool refuses_groups(int error_number);

// One control group with its limits, used by one attempt at a time. Owned by CgroupPool.
class Cgroup {
 public:
  // For the child: writing "0" to each of them enters the group.
  std::vector<int> entries() const;
  std::vector<pid_t> members() const;
  // The kernel has killed for memory since the last call of reset().
  bool killed_for_memory() const;
  void reset();
  bool limits_memory() const { return limits_memory_; }
  // Why its CPU limit could not be set; empty: all its limits hold.
  const std::string& fault() const { return fault_; }

 private:
  friend class CgroupPool;
  std::string fault_;
  std::vector<std::string> folders_;
  std::vector<UniqueFd> procs_;
  std::string event_file_;  // holds a line "oom_kill N"
  std::uint64_t kills_before_ = 0;
  bool limits_memory_ = false;
  std::pair<MilliCpu, MiB> limits_;
};

// The control groups of one keeper, by their limits: those that are free are used again. Removes
// them at its end. Keeper thread only.
class CgroupPool {
 public:
  CgroupPool(CgroupPlace place, const std::string& incarnation);
  ~CgroupPool();
  CgroupPool(const CgroupPool&) = delete;
  CgroupPool& operator=(const CgroupPool&) = delete;

  // The folders below which all groups are, made or not.
  const std::vector<std::string>& roots() const { return roots_; }
  // False also when making or entering one was refused for good.
  bool available() const { return !roots_.empty() && !refused_; }
  void refuse() { refused_ = true; }

  // A zero limit is none. The caller gives it back when no process is left in it.
  Result<std::unique_ptr<Cgroup>> take(MilliCpu cpus, MiB memory);
  void give_back(std::unique_ptr<Cgroup> group);
  // The same for one that could not be entered: it is not used again.
  static void drop(std::unique_ptr<Cgroup> group);

 private:
  Result<void> prepare();
  Result<std::unique_ptr<Cgroup>> make(MilliCpu cpus, MiB memory);
  Result<void> limit_unified(Cgroup& group, MiB memory);
  Result<void> limit_memory(Cgroup& group, MiB memory);
  Result<void> limit_cpu(Cgroup& group, MilliCpu cpus);
  Result<std::string> add_folder(Cgroup& group, const std::string& root);

  CgroupPlace place_;
  std::vector<std::string> roots_;
  bool prepared_ = false;
  bool refused_ = false;
  std::uint64_t next_ = 1;
  std::size_t free_count_ = 0;
  std::map<std::pair<MilliCpu, MiB>, std::vector<std::unique_ptr<Cgroup>>> free_;
};

// Kills everything in the groups below a root until they are empty, and removes them: for a keeper
// that is gone. Gives up after a few seconds.
void empty_cgroups(const std::string& root);

}  // namespace tutti
