#include "exec/keeper/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "exec/keeper/folders.h"

namespace tutti {
namespace {

constexpr std::int64_t kPeriodUs = 100'000;
// What the kernel takes at least as a quota and at most as a period.
constexpr std::int64_t kLeastQuotaUs = 1'000;
constexpr std::int64_t kLongestPeriodUs = 1'000'000;
constexpr std::size_t kMostFree = 32;

Result<void> write_value(const std::string& path, const std::string& value) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return io_error("cannot open '" + path + "'", errno);
  if (write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) {
    return io_error("cannot write to '" + path + "'", errno);
  }
  return {};
}

std::uint64_t oom_kills(const std::string& file) {
  const Result<std::string> text = read_small_file(file);
  if (!text) return 0;
  constexpr std::string_view kName = "oom_kill ";
  // Not "oom_kill_disable": the name is followed by a blank.
  const std::size_t at = text->find(kName);
  if (at == std::string::npos) return 0;
  std::uint64_t count = 0;
  const char* const digits = text->data() + at + kName.size();
  std::from_chars(digits, text->data() + text->size(), count);
  return count;
}

std::vector<pid_t> read_pids(const std::string& file) {
  std::vector<pid_t> pids;
  const Result<std::string> text = read_small_file(file);
  if (!text) return pids;
  for (const char *at = text->data(), *end = at + text->size(); at < end;) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (pid > 0) pids.push_back(pid);
    at = parsed.ptr + 1;
  }
  return pids;
}

void pause_ms(long ms) {
  const timespec pause{0, ms * 1000 * 1000};
  nanosleep(&pause, nullptr);
}

// The kernel may count a process as a member for a moment after it was reaped.
void remove_group(const std::string& folder) {
  for (int round = 0; round < 100; ++round) {
    if (rmdir(folder.c_str()) == 0 || errno != EBUSY) return;
    pause_ms(1);
  }
}

}  // namespace

CpuQuota cpu_quota(MilliCpu cpus) {
  const std::int64_t quota_us = cpus.value * kPeriodUs / 1000;
  if (quota_us >= kLeastQuotaUs) return {quota_us, kPeriodUs};
  return {kLeastQuotaUs, std::min(kLeastQuotaUs * 1000 / cpus.value, kLongestPeriodUs)};
}

bool refuses_groups(int error_number) {
  return error_number == EACCES || error_number == EPERM || error_number == EROFS ||
         error_number == ENOENT;
}

std::vector<int> Cgroup::entries() const {
  std::vector<int> fds;
  for (const UniqueFd& fd : procs_) fds.push_back(fd.get());
  return fds;
}

std::vector<pid_t> Cgroup::members() const {
  return folders_.empty() ? std::vector<pid_t>() : read_pids(folders_.front() + "/cgroup.procs");
}

bool Cgroup::killed_for_memory() const {
  return limits_memory_ && oom_kills(event_file_) > kills_before_;
}

void Cgroup::reset() {
  kills_before_ = limits_memory_ ? oom_kills(event_file_) : 0;
}

CgroupPool::CgroupPool(CgroupPlace place, const std::string& incarnation)
    : place_(std::move(place)) {
  for (std::string* folder : {&place_.unified, &place_.memory, &place_.cpu}) {
    if (folder->empty()) continue;
    *folder += "/tutti-" + incarnation;
    if (std::find(roots_.begin(), roots_.end(), *folder) == roots_.end()) roots_.push_back(*folder);
  }
}

CgroupPool::~CgroupPool() {
  for (const auto& [limits, groups] : free_) {
    for (const auto& group : groups) {
      for (const std::string& folder : group->folders_) remove_group(folder);
    }
  }
  for (const std::string& root : roots_) remove_group(root);
}

Result<void> CgroupPool::prepare() {
  if (prepared_) return {};
  for (const std::string& root : roots_) {
    if (mkdir(root.c_str(), 0755) == 0 || errno == EEXIST) continue;
    const int error_number = errno;
    refused_ = refuses_groups(error_number);
    return io_error("cannot make the control group '" + root + "'", error_number);
  }
  if (!place_.unified.empty()) {
    const std::string control = place_.unified + "/cgroup.subtree_control";
    if (Result<void> handed = write_value(control, "+memory +cpu"); !handed) return handed;
  }
  prepared_ = true;
  return {};
}

Result<std::unique_ptr<Cgroup>> CgroupPool::take(MilliCpu cpus, MiB memory) {
  auto& free = free_[{cpus, memory}];
  if (free.empty()) return make(cpus, memory);
  std::unique_ptr<Cgroup> group = std::move(free.back());
  free.pop_back();
  --free_count_;
  group->reset();
  return group;
}

void CgroupPool::give_back(std::unique_ptr<Cgroup> group) {
  // Each one holds descriptors; many different limits must not use them up. What could not be
  // limited now may be next time.
  if (free_count_ >= kMostFree || !group->fault().empty()) return drop(std::move(group));
  ++free_count_;
  auto& free = free_[group->limits_];
  free.push_back(std::move(group));
}

void CgroupPool::drop(std::unique_ptr<Cgroup> group) {
  for (const std::string& folder : group->folders_) rmdir(folder.c_str());
}

Result<std::unique_ptr<Cgroup>> CgroupPool::make(MilliCpu cpus, MiB memory) {
  if (Result<void> ready = prepare(); !ready) return ready.error();
  auto group = std::make_unique<Cgroup>();
  group->limits_ = {cpus, memory};
  Result<void> limited = Result<void>();
  if (!place_.unified.empty()) {
    limited = limit_unified(*group, memory);
  } else if (memory.value > 0) {
    limited = limit_memory(*group, memory);
  }
  // Memory is limited also where the kernel does not take the part of a CPU.
  if (limited && cpus.value > 0) {
    if (const Result<void> held = limit_cpu(*group, cpus); !held)
      group->fault_ = held.error().message;
  }
  ++next_;
  if (!limited) {
    drop(std::move(group));
    return limited.error();
  }
  group->reset();
  return group;
}

Result<std::string> CgroupPool::add_folder(Cgroup& group, const std::string& root) {
  std::string folder = root + "/" + std::to_string(next_);
  const bool known =
      std::find(group.folders_.begin(), group.folders_.end(), folder) != group.folders_.end();
  if (known) return folder;
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    const int error_number = errno;
    prepared_ = false;  // somebody may have removed the root
    return io_error("cannot make the control group '" + folder + "'", error_number);
  }
  group.folders_.push_back(folder);
  UniqueFd procs(open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!procs) return io_error("cannot open '" + folder + "/cgroup.procs'", errno);
  group.procs_.push_back(std::move(procs));
  return folder;
}

Result<void> CgroupPool::limit_unified(Cgroup& group, MiB memory) {
  const Result<std::string> folder = add_folder(group, place_.unified);
  if (!folder) return folder.error();
  if (memory.value == 0) return {};
  const std::string bytes = std::to_string(memory.value << 20);
  if (Result<void> r = write_value(*folder + "/memory.max", bytes); !r) return r;
  // Both are missing on some kernels; the limit holds without them, if less neatly.
  static_cast<void>(write_value(*folder + "/memory.swap.max", "0").has_value());
  static_cast<void>(write_value(*folder + "/memory.oom.group", "1").has_value());
  group.limits_memory_ = true;
  group.event_file_ = *folder + "/memory.events";
  return {};
}

Result<void> CgroupPool::limit_memory(Cgroup& group, MiB memory) {
  if (place_.memory.empty()) return {};
  const Result<std::string> folder = add_folder(group, place_.memory);
  if (!folder) return folder.error();
  const std::string bytes = std::to_string(memory.value << 20);
  if (Result<void> r = write_value(*folder + "/memory.limit_in_bytes", bytes); !r) return r;
  // Only where swap is accounted for.
  static_cast<void>(write_value(*folder + "/memory.memsw.limit_in_bytes", bytes).has_value());
  group.limits_memory_ = true;
  group.event_file_ = *folder + "/memory.oom_control";
  return {};
}

Result<void> CgroupPool::limit_cpu(Cgroup& group, MilliCpu cpus) {
  const bool unified = !place_.unified.empty();
  if (!unified && place_.cpu.empty()) return {};
  const Result<std::string> folder = add_folder(group, unified ? place_.unified : place_.cpu);
  if (!folder) return folder.error();
  const CpuQuota part = cpu_quota(cpus);
  const std::string quota = std::to_string(part.quota_us);
  const std::string period = std::to_string(part.period_us);
  if (unified) return write_value(*folder + "/cpu.max", quota + " " + period);
  if (Result<void> r = write_value(*folder + "/cpu.cfs_period_us", period); !r) return r;
  return write_value(*folder + "/cpu.cfs_quota_us", quota);
}

void empty_cgroups(const std::string& root) {
  std::error_code failed;
  for (int round = 0; round < 500; ++round) {
    bool empty = true;
    for (const auto& entry : std::filesystem::directory_iterator(root, failed)) {
      if (!entry.is_directory(failed)) continue;
      for (const pid_t pid : read_pids(entry.path().string() + "/cgroup.procs")) {
        empty = false;
        kill(pid, SIGKILL);
      }
      if (rmdir(entry.path().c_str()) != 0 && errno == EBUSY) empty = false;
    }
    if (empty) break;
    pause_ms(10);
  }
  remove_group(root);
}

}  // namespace tutti
