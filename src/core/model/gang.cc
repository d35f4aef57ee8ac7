#include "core/model/gang.h"

namespace tutti {

RankPosition position_of_rank(const std::vector<RankGroup>& groups, std::uint32_t rank) {
  RankPosition position{0, rank};
  while (position.index >= groups.at(position.group).count)
    position.index -= groups[position.group++].count;
  return position;
}

bool is_elastic(const std::vector<RankGroup>& groups) {
  return !groups.empty() && groups.front().elastic;
}

std::size_t group_of_rank(const Gang& gang, std::uint32_t rank) {
  std::size_t group = 0;
  while (rank >= gang.workers.at(group).ranks.count) rank -= gang.workers[group++].ranks.count;
  return group;
}

const WorkerGroup& workers_of_rank(const Gang& gang, std::uint32_t rank) {
  return gang.workers[group_of_rank(gang, rank)];
}

std::string failure_rule_name(const FailureRule& rule) {
  switch (rule.kind) {
    case FailureRule::Kind::kFailFast:
      return "failFast";
    case FailureRule::Kind::kContinue:
      return "continue";
    case FailureRule::Kind::kRestart:
      return "restartWorker(" + std::to_string(rule.number) + ")";
    case FailureRule::Kind::kMinSucceeded:
      return "minSucceeded(" + std::to_string(rule.number) + ")";
  }
  return "failFast";
}

const char* framework_name(Framework framework) {
  switch (framework) {
    case Framework::kNone:
      return "none";
    case Framework::kTensorflow:
      return "tf";
    case Framework::kPytorch:
      return "pytorch";
    case Framework::kJax:
      return "jax";
    case Framework::kJobset:
      return "jobset";
    case Framework::kRay:
      return "ray";
    case Framework::kXgboost:
      return "xgboost";
    case Framework::kMpi:
      return "mpi";
  }
  return "none";
}

}  // namespace tutti
