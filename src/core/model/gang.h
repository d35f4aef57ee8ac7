#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/command.h"
#include "core/model/request.h"

namespace tutti {

// What becomes of a gang when one of its ranks fails.
struct FailureRule {
  enum class Kind : std::uint8_t {
    kFailFast = 0,      // the others are ended; the job has failed
    kContinue = 1,      // the others go on; the job has failed when they have ended
    kRestart = 2,       // the rank alone runs again, `number` times at most; then as kFailFast
    kMinSucceeded = 3,  // all is well as long as `number` ranks of the group can succeed
  };
  Kind kind = Kind::kFailFast;
  std::uint32_t number = 0;
  auto operator<=>(const FailureRule&) const = default;
};

// Neighbouring ranks of a gang with equal wishes, as the scheduler sees them.
struct RankGroup {
  std::uint32_t count = 1;
  std::uint32_t parallel = 0;  // at most so many of them at once; zero: all together
  Request request;
  FailureRule failure;
  // How many of them run, and with how many devices each, is chosen by a policy, and chosen again
  // while they run; `request` is then for one device. Such a group is the only one of its gang.
  bool elastic = false;
  // How many of them run at the same time.
  std::uint32_t at_once() const { return parallel > 0 && parallel < count ? parallel : count; }
  auto operator<=>(const RankGroup&) const = default;
};

// By which convention the ranks of a gang learn of each other. The numbers are stored: append only.
enum class Framework : std::uint8_t {
  kNone = 0,  // the neutral TUTTI_* and SLURM_* variables alone, which every gang gets
  kTensorflow = 1,
  kPytorch = 2,
  kJax = 3,
  kJobset = 4,
  kRay = 5,
  kXgboost = 6,
  kMpi = 7,
};
inline constexpr Framework kLastFramework = Framework::kMpi;

// Whether ranks execute a program of ours in place of their command (core/spec/rank_programs.h),
// which forms a cluster of them whose processes have ranks of their own.
constexpr bool has_rank_program(Framework framework) {
  return framework == Framework::kRay || framework == Framework::kMpi;
}

// The workers of one type in a manifest. Ranks are numbered through the groups, in order.
struct WorkerGroup {
  std::string name = "Worker";
  RankGroup ranks;
  Command command;               // empty: the job's
  std::vector<std::string> env;  // "NAME=value", in addition to the job's
  Duration time_limit;           // zero: the job's
  MiB shared_memory;             // of /dev/shm in a container; zero: its runtime's default
  std::uint32_t replica = 0;     // of a job set: which of the equal jobs of this name
  MilliCpu cpu_limit;            // what each may use at most; zero: what it asks for
  bool operator==(const WorkerGroup&) const = default;
};

// What a job with many workers says of them; no workers: it is no gang.
struct Gang {
  Framework framework = Framework::kNone;
  std::vector<WorkerGroup> workers;
  Duration start_timeout = seconds(600);  // until every rank is ready to start
  bool operator==(const Gang&) const = default;
};

// The position among the workers of the group that a rank is of, and that group.
std::size_t group_of_rank(const Gang& gang, std::uint32_t rank);
const WorkerGroup& workers_of_rank(const Gang& gang, std::uint32_t rank);

// Which group a rank belongs to, and its number in it.
struct RankPosition {
  std::size_t group = 0;
  std::uint32_t index = 0;
};
RankPosition position_of_rank(const std::vector<RankGroup>& groups, std::uint32_t rank);
// Whether a gang of these groups may be stopped and run again in another shape.
bool is_elastic(const std::vector<RankGroup>& groups);

// "failFast", "continue", "restartWorker(3)", "minSucceeded(2)".
std::string failure_rule_name(const FailureRule& rule);
// "none", "tf", "pytorch", "jax", "jobset", "ray", "xgboost", "mpi".
const char* framework_name(Framework framework);

}  // namespace tutti
