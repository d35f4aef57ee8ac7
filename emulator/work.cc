#include "emulator/work.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "emulator/gpu_use.h"
#include "emulator/process_life.h"
#include "emulator/visible_devices.h"

namespace tutti::emulator {
namespace {

constexpr double kTickSeconds = 0.05;
constexpr unsigned int kOrphanSeconds = 60;
constexpr double kPreallocShare = 0.9;

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void sleep_until(std::uint64_t when) {
  const timespec until{static_cast<time_t>(when / 1'000'000'000),
                       static_cast<long>(when % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1e9);
}

bool is_set_to(const char* variable, const char* value) {
  const char* found = std::getenv(variable);
  return found != nullptr && std::strcmp(found, value) == 0;
}

// Whether the framework takes nearly the whole device at its start, which users can forbid.
bool grabs_all(const WorkOptions& options) {
  return options.prealloc && !is_set_to("XLA_PYTHON_CLIENT_PREALLOCATE", "false") &&
         !is_set_to("TF_FORCE_GPU_ALLOW_GROWTH", "true");
}

// The part of the job that lives on the devices: done by the program itself, or by each of its
// children for a share. Owned by one process and used by its only thread.
class Tenant {
 public:
  Tenant(GpuFile& file, const WorkOptions& options, std::vector<int> units)
      : file_(file), options_(options), units_(std::move(units)) {}

  // The same tenant as the holder of one of `shares` parts.
  Tenant share(int number, int shares) const {
    Tenant part = *this;
    part.number_ = number;
    part.shares_ = shares;
    return part;
  }

  bool start() {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (!allocate_on(i, own_part(start_memory(i)))) return false;
      LockedGpus gpus(file_);
      if (!gpus.ok()) return false;
      set_demand(gpus, units_[i], static_cast<std::uint32_t>(own_part(options_.percent)));
    }
    return true;
  }

  bool must_grow() const {
    return !grabs_all(options_) && options_.start_memory &&
           *options_.start_memory < options_.memory;
  }

  bool grow() {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (!allocate_on(i, own_part(options_.memory - *options_.start_memory))) return false;
    }
    return true;
  }

 private:
  // The first takes what cannot be divided.
  template <typename Amount>
  Amount own_part(Amount amount) const {
    const auto shares = static_cast<Amount>(shares_);
    return amount / shares + (number_ == 0 ? amount % shares : 0);
  }

  std::uint64_t start_memory(std::size_t i) const {
    if (!grabs_all(options_)) return options_.start_memory.value_or(options_.memory);
    return static_cast<std::uint64_t>(static_cast<double>(file_.units[units_[i]].memory) *
                                      kPreallocShare);
  }

  bool allocate_on(std::size_t i, std::uint64_t bytes) {
    LockedGpus gpus(file_);
    const int unit = units_[i];
    const int error = gpus.ok() ? allocate(gpus, unit, bytes) : -ETIMEDOUT;
    if (error == 0) {
      held_ += bytes;
      return true;
    }
    if (error == -ENOMEM) {
      const std::uint64_t total = gpus->units[unit].memory;
      say(out_of_memory_text(options_.flavour, {static_cast<int>(i), bytes, total,
                                                total - used_memory(gpus, unit), held_}));
    } else {
      say("RuntimeError: CUDA error: allocating on GPU " + std::to_string(i) + ": " +
          std::strerror(-error) + " (emulated)\n");
    }
    return false;
  }

  GpuFile& file_;
  const WorkOptions& options_;
  std::vector<int> units_;
  int number_ = 0;
  int shares_ = 1;
  std::uint64_t held_ = 0;
};

// How fast work goes on: the most crowded of the devices sets the pace. Negative when one is gone.
double pace(GpuFile& file, const WorkOptions& options, const std::vector<int>& units) {
  double slowest = 1;
  LockedGpus gpus(file);
  if (!gpus.ok()) return slowest;
  for (const int unit : units) {
    const Fault fault = fault_of(gpus, unit);
    if (fault == Fault::kLost || fault == Fault::kVanished) return -1;
    const double demand = total_demand(gpus, unit);
    if (options.slowdown && demand > 100) slowest = std::min(slowest, 100 / demand);
  }
  return slowest;
}

// The children that hold the memory in place of the program. Owned by the parent.
class Children {
 public:
  // False when one could not start or had no room. `live` is run in each child and never returns.
  template <typename Live>
  bool start(int count, Live live) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    const UniqueFd ready(ends[0]);
    UniqueFd report(ends[1]);
    const pid_t parent = ::getpid();
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid < 0) return false;
      if (pid == 0) live(i, parent, report.get());
      pids_.push_back(pid);
    }
    report.reset();
    for (int holding = 0; holding < count;) {
      pollfd wait{ready.get(), POLLIN, 0};
      char byte = 0;
      if (::poll(&wait, 1, 50) == 1 && ::read(ready.get(), &byte, 1) == 1) ++holding;
      if (any_ended()) return false;
    }
    return true;
  }

  bool any_ended() const {
    return std::any_of(pids_.begin(), pids_.end(), [](pid_t pid) { return has_ended(pid); });
  }

  void end() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }

 private:
  std::vector<pid_t> pids_;
};

void outlive_parent(int) {
  ::alarm(kOrphanSeconds);
}

// A child dies with its parent; an orphan holds on for a minute more.
void tie_to_parent(pid_t parent, bool orphan) {
  if (orphan) ::signal(SIGUSR1, outlive_parent);
  ::prctl(PR_SET_PDEATHSIG, orphan ? SIGUSR1 : SIGKILL);
  if (::getppid() != parent) ::raise(orphan ? SIGUSR1 : SIGKILL);
}

[[noreturn]] void live_as_child(Tenant tenant, const WorkOptions& options, pid_t parent,
                                int report) {
  tie_to_parent(parent, options.orphan);
  const std::uint64_t began = monotonic_now();
  if (!tenant.start()) ::_exit(1);
  if (::write(report, "1", 1) != 1) ::_exit(1);
  if (tenant.must_grow()) {
    sleep_until(began + nanoseconds(options.grow_after));
    if (!tenant.grow()) ::_exit(1);
  }
  for (;;) ::pause();
}

// Does the work; `own` is null when children hold the memory.
int work_through(GpuFile& file, const WorkOptions& options, const std::vector<int>& units,
                 Tenant* own, const Children& children) {
  const std::uint64_t began = monotonic_now();
  const std::uint64_t grow_at = began + nanoseconds(options.grow_after);
  bool growing = own != nullptr && own->must_grow();
  std::uint64_t now = began;
  double left = options.seconds;
  while (left > 0 || growing) {
    if (growing && now >= grow_at) {
      if (!own->grow()) return 1;
      growing = false;
      continue;
    }
    const double rate = pace(file, options, units);
    if (rate < 0) {
      say("RuntimeError: CUDA error: the GPU is lost (emulated)\n");
      return 1;
    }
    const double step = left > 0 ? std::min(left / rate, kTickSeconds) : kTickSeconds;
    // Rounded up, so that no rest of a nanosecond is left.
    std::uint64_t wake = now + nanoseconds(step) + 1;
    if (growing) wake = std::min(wake, grow_at);
    sleep_until(wake);
    const std::uint64_t then = monotonic_now();
    left -= static_cast<double>(then - now) / 1e9 * rate;
    now = then;
    if (children.any_ended()) return 1;
  }
  return 0;
}

std::vector<int> chosen_units(GpuFile& file, const WorkOptions& options) {
  LockedGpus gpus(file);
  std::vector<int> units;
  if (gpus.ok()) units = visible_units(gpus, std::getenv("CUDA_VISIBLE_DEVICES"));
  if (units.size() > static_cast<std::size_t>(options.gpus))
    units.resize(static_cast<std::size_t>(options.gpus));
  return units;
}

}  // namespace

int run_work(GpuFile& file, const WorkOptions& options) {
  const std::vector<int> units = chosen_units(file, options);
  if (units.size() < static_cast<std::size_t>(options.gpus)) {
    say(units.empty()
            ? "RuntimeError: No CUDA GPUs are available (emulated)\n"
            : "RuntimeError: CUDA error: invalid device ordinal: " + std::to_string(units.size()) +
                  " visible, " + std::to_string(options.gpus) + " wanted (emulated)\n");
    return 1;
  }
  Children children;
  if (options.children == 0) {
    Tenant tenant(file, options, units);
    return tenant.start() ? work_through(file, options, units, &tenant, children) : 1;
  }
  const Tenant tenant(file, options, units);
  const bool started = children.start(options.children, [&](int number, pid_t parent, int report) {
    live_as_child(tenant.share(number, options.children), options, parent, report);
  });
  const int status = started ? work_through(file, options, units, nullptr, children) : 1;
  if (status != 0 || !options.orphan) children.end();
  return status;
}

}  // namespace tutti::emulator
