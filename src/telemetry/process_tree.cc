#include "telemetry/process_tree.h"

#include <utility>

namespace tutti {
namespace {

constexpr std::int64_t kCheckEvery = 1000000;
constexpr std::int64_t kForgetAfter = 10000000;
// Longer chains of parents there are not; a shorter one may change while it is walked.
constexpr int kMostAncestors = 256;

const ProcessDescription kGone;

}  // namespace

void ProcessTree::set_roots(std::vector<ProcessRoot> roots) {
  roots_.clear();
  for (ProcessRoot& root : roots) roots_[root.pid] = std::move(root);
  for (auto& [pid, known] : known_) known.judged = false;
}

std::optional<std::uint64_t> ProcessTree::owner(std::int64_t pid) {
  Known* known = look_up(pid);
  if (known == nullptr) return {};
  if (!known->judged) {
    known->owner = judge(pid);
    known->judged = true;
  }
  return known->owner;
}

const ProcessDescription& ProcessTree::describe(std::int64_t pid) {
  Known* known = look_up(pid);
  if (known == nullptr) return kGone;
  if (!known->description) known->description = describe_process(pid);
  return *known->description;
}

ProcessTree::Known* ProcessTree::look_up(std::int64_t pid) {
  const std::int64_t now = clock_();
  if (now - swept_us_ >= kForgetAfter) forget_old(now);
  const auto found = known_.find(pid);
  if (found != known_.end() && now - found->second.checked_us < kCheckEvery) {
    found->second.asked_us = now;
    return &found->second;
  }
  const auto stat = process_stat(pid);
  if (!stat) {
    known_.erase(pid);
    return nullptr;
  }
  Known& known = known_[pid];
  const bool another = known.start_ticks != stat->start_ticks;
  if (another) known = {stat->start_ticks, now, now, {}, false, {}};
  known.checked_us = known.asked_us = now;
  return &known;
}

void ProcessTree::forget_old(std::int64_t now_us) {
  std::erase_if(known_,
                [&](const auto& entry) { return now_us - entry.second.asked_us >= kForgetAfter; });
  swept_us_ = now_us;
}

const ProcessRoot* ProcessTree::root_at(std::int64_t pid, std::uint64_t start_ticks) const {
  const auto root = roots_.find(pid);
  if (root == roots_.end()) return nullptr;
  const bool same = root->second.start_ticks == 0 || root->second.start_ticks == start_ticks;
  return same ? &root->second : nullptr;
}

std::optional<std::uint64_t> ProcessTree::judge(std::int64_t pid) const {
  const auto own = process_stat(pid);
  if (!own) return {};
  auto stat = own;
  std::int64_t at = pid;
  for (int steps = 0; stat && at > 1 && steps < kMostAncestors; ++steps) {
    if (const ProcessRoot* root = root_at(at, stat->start_ticks)) return root->id;
    at = stat->parent;
    stat = at > 1 ? process_stat(at) : std::nullopt;
  }
  // The kernel gives a leader's pid to nobody else as long as its session has members.
  const auto leader = roots_.find(own->session);
  if (leader != roots_.end() && leader->second.start_ticks <= own->start_ticks) {
    return leader->second.id;
  }
  const std::string environment = process_environment(pid);
  for (const auto& [root_pid, root] : roots_) {
    if (has_variables(environment, root.environment)) return root.id;
  }
  return {};
}

}  // namespace tutti
