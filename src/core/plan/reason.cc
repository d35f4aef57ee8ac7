#include "core/plan/reason.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {
namespace {

std::string cores(std::int64_t milli) {
  return milli % 1000 == 0 ? fmt::format("{}", milli / 1000)
                           : fmt::format("{:g}", static_cast<double>(milli) / 1000.0);
}

std::string plural(std::uint64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string text_of_wait(Duration wait) {
  const std::int64_t total = (wait.value + 999999) / 1000000;
  if (total < 120)
    return plural(static_cast<std::uint64_t>(std::max<std::int64_t>(total, 0)), "second");
  if (total < 7200) return plural(static_cast<std::uint64_t>(total / 60), "minute");
  return plural(static_cast<std::uint64_t>(total / 3600), "hour");
}

std::string text_of_dependency(const Reason& reason) {
  switch (reason.when) {
    case Dependency::When::kSuccess:
      return fmt::format("waits until job {} succeeds", reason.job.value);
    case Dependency::When::kFailure:
      return fmt::format("waits until job {} fails", reason.job.value);
    case Dependency::When::kAny:
      return fmt::format("waits until job {} ends", reason.job.value);
  }
  return {};
}

}  // namespace

const char* reason_name(ReasonCode code) {
  switch (code) {
    case ReasonCode::kDependency:
      return "dependency";
    case ReasonCode::kBackoff:
      return "backoff";
    case ReasonCode::kArrayLimit:
      return "array_limit";
    case ReasonCode::kNodeLimit:
      return "node_limit";
    case ReasonCode::kJobs:
      return "jobs";
    case ReasonCode::kCpus:
      return "cpus";
    case ReasonCode::kMemory:
      return "memory";
    case ReasonCode::kDevices:
      return "devices";
    case ReasonCode::kBehind:
      return "behind";
    case ReasonCode::kReserved:
      return "reserved";
    case ReasonCode::kNodes:
      return "nodes";
    case ReasonCode::kRanks:
      return "ranks";
    case ReasonCode::kRestarting:
      return "restarting";
    case ReasonCode::kShape:
      return "shape";
    case ReasonCode::kProfile:
      return "profile";
    case ReasonCode::kStarting:
      return "starting";
  }
  return "unknown";
}

std::string text_of(const Reason& reason, TimePoint now) {
  switch (reason.code) {
    case ReasonCode::kDependency:
      return text_of_dependency(reason);
    case ReasonCode::kBackoff:
      return fmt::format("failed before and runs again in {}", text_of_wait(reason.until - now));
    case ReasonCode::kArrayLimit:
      return fmt::format("its job may run {} at once, and as many run",
                         plural(reason.count, "task"));
    case ReasonCode::kNodeLimit:
      return fmt::format("its job may run {}, and as many run", reason.detail);
    case ReasonCode::kJobs:
      return fmt::format("{} runs {}, as many as it may", reason.node,
                         plural(static_cast<std::uint64_t>(reason.available), "job"));
    case ReasonCode::kCpus:
      return fmt::format("wants {} {}, {} has {} of {} free", cores(reason.wanted),
                         reason.wanted == 1000 ? "CPU" : "CPUs", reason.node,
                         cores(reason.available), cores(reason.capacity));
    case ReasonCode::kMemory:
      return fmt::format("wants {} MiB of memory, {} has {} of {} MiB free", reason.wanted,
                         reason.node, reason.available, reason.capacity);
    case ReasonCode::kDevices:
      return fmt::format("wants {}{}, {} has {} of {}{}",
                         plural(static_cast<std::uint64_t>(reason.wanted), "GPU"), reason.detail,
                         reason.node, reason.available, reason.capacity, reason.more);
    case ReasonCode::kBehind:
      return fmt::format(
          "{} before it in the queue; the first is of job {}",
          reason.count == 1 ? "1 task is" : fmt::format("{} tasks are", reason.count),
          reason.job.value);
    case ReasonCode::kReserved:
      return fmt::format("would fit on {}, but that room is kept for job {}, which comes before it",
                         reason.node, reason.job.value);
    case ReasonCode::kNodes:
      return fmt::format("no node that could run it takes work: {}", reason.detail);
    case ReasonCode::kRanks:
      return fmt::format("{} start together, and there is room for {}",
                         plural(static_cast<std::uint64_t>(reason.wanted), "rank"),
                         reason.available == 0 ? "none" : fmt::format("{}", reason.available));
    case ReasonCode::kRestarting:
      return "all ranks start again together, and some have not stopped yet";
    case ReasonCode::kShape:
      return "it may run in several shapes, and others have the devices until the next round";
    case ReasonCode::kProfile:
      return fmt::format("waiting for profile of {}, job {}{}", reason.detail, reason.job.value,
                         reason.until ? ", about " + text_of_wait(reason.until - now)
                                      : std::string(", for the first time"));
    case ReasonCode::kStarting:
      return "nothing blocks it: it starts now";
  }
  return {};
}

}  // namespace tutti
