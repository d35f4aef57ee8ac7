#include "core/policy/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>

#include "core/policy/decide.h"
#include "core/policy/holders.h"

namespace tutti {
namespace {

bool would_start(const Waiting& waiting, const Snapshot& otherwise) {
  const std::uint32_t group = waiting.snapshot.groups[waiting.position].group;
  const Plan plan = decide(otherwise);
  const auto starts = std::count_if(plan.starts.begin(), plan.starts.end(), [&](const Start& one) {
    return one.group == group && !one.staged;
  });
  return static_cast<std::uint64_t>(starts) > waiting.older;
}

bool would_start_as(const Waiting& waiting, const GroupKey& key) {
  Snapshot otherwise = waiting.snapshot;
  GroupView& view = otherwise.groups[waiting.position];
  view.key = &key;
  const auto adapt = [&](Request& request) {
    request.cpus = key.request.cpus;
    request.memory = key.request.memory;
  };
  adapt(view.request);
  for (Request& choice : view.choices) adapt(choice);
  return would_start(waiting, otherwise);
}

// Something whose end would give room: a job, or of the very job that waits one task.
struct Freeing {
  JobId job;
  std::optional<std::uint32_t> task;
  auto operator<=>(const Freeing&) const = default;
};

std::string end_words(const Ledger& ledger, const Freeing& freeing) {
  if (!freeing.task)
    return fmt::format("the end of job {} (tutti cancel {})", freeing.job.value, freeing.job.value);
  const std::string name = fmt::format("{}.{}", freeing.job.value,
                                       ledger.find_job(freeing.job)->tasks.label(*freeing.task));
  return fmt::format("the end of task {} (tutti cancel {})", name, name);
}

std::string end_words(const Dependency& dependency) {
  const std::uint64_t job = dependency.job.value;
  switch (dependency.when) {
    case Dependency::When::kSuccess:
      return fmt::format("the success of job {}", job);
    case Dependency::When::kFailure:
      return fmt::format("the failure of job {}", job);
    case Dependency::When::kAny:
      return fmt::format("the end of job {} (tutti cancel {})", job, job);
  }
  return {};
}

// With that node as it would be then, and without what runs there and is `gone`.
template <typename Gone>
bool would_start_without(const Waiting& waiting, const Node& later, Gone gone) {
  std::vector<Node> nodes(waiting.snapshot.nodes.begin(), waiting.snapshot.nodes.end());
  nodes[later.id.value - 1] = later;
  Snapshot otherwise = waiting.snapshot;
  otherwise.nodes = nodes;
  std::erase_if(otherwise.running,
                [&](const RunningView& view) { return view.node == later.id && gone(view.task); });
  return would_start(waiting, otherwise);
}

}  // namespace

void add_freeing_jobs(const Waiting& waiting, JobId own, const Node& node, const Request& request,
                      std::vector<std::string>& remedies) {
  constexpr int kMostTried = 20;
  std::map<Freeing, Node> without;
  for (const RunningView& running : waiting.snapshot.running) {
    // What is staged behind an attempt inherits its room.
    if (running.node != node.id || waiting.ledger.find_lane(running.lane)->staged > 0) continue;
    Freeing freeing{running.task.job, {}};
    if (freeing.job == own) freeing.task = running.task.index;
    Node& later = without.try_emplace(freeing, node).first->second;
    release(later, *running.allocation);
  }
  int tried = 0;
  for (const auto& [freeing, later] : without) {
    if (!fits_now(later, request)) continue;
    if (remedies.size() >= 3 || ++tried > kMostTried) return;
    std::string remedy = end_words(waiting.ledger, freeing);
    const bool named = std::find(remedies.begin(), remedies.end(), remedy) != remedies.end();
    const auto gone = [&one = freeing](TaskId task) {
      return task.job == one.job && (!one.task || *one.task == task.index);
    };
    if (!named && would_start_without(waiting, later, gone)) remedies.push_back(std::move(remedy));
  }
}

void add_smaller_requests(const Waiting& waiting, const Node& node, const Request& request,
                          std::vector<std::string>& remedies) {
  GroupKey smaller = *waiting.snapshot.groups[waiting.position].key;
  if (request.cpus > node.free_cpus && node.free_cpus.value > 0) {
    smaller.request.cpus = node.free_cpus;
    if (would_start_as(waiting, smaller))
      remedies.push_back(fmt::format("asking for at most --cpus {:g}",
                                     static_cast<double>(node.free_cpus.value) / 1000.0));
  }
  smaller.request = request;
  if (request.memory > node.free_memory && node.free_memory.value > 0) {
    smaller.request.memory = node.free_memory;
    if (would_start_as(waiting, smaller))
      remedies.push_back(fmt::format("asking for at most --mem {}M", node.free_memory.value));
  }
}

void add_resumed_nodes(const Waiting& waiting, std::vector<std::string>& remedies) {
  constexpr std::size_t kMostTried = 3;
  std::vector<Node> nodes(waiting.snapshot.nodes.begin(), waiting.snapshot.nodes.end());
  Snapshot otherwise = waiting.snapshot;
  otherwise.nodes = nodes;
  std::size_t tried = 0;
  for (Node& node : nodes) {
    if (node.state != Node::State::kDraining) continue;
    if (++tried > kMostTried) return;
    node.state = Node::State::kUp;
    if (would_start(waiting, otherwise))
      remedies.push_back(fmt::format("giving {0} work again (tutti nodes resume {0})", node.name));
    node.state = Node::State::kDraining;
  }
}

void add_priority(const Waiting& waiting, std::vector<std::string>& remedies) {
  constexpr std::int32_t kFirst = 1'000'000'000;
  GroupKey first = *waiting.snapshot.groups[waiting.position].key;
  first.priority = kFirst;
  if (would_start_as(waiting, first))
    remedies.push_back("a higher --priority than what waits before it");
}

void add_freeing_set(const Waiting& waiting, JobId own, const Node& node, const Request& request,
                     std::vector<std::string>& remedies) {
  constexpr std::size_t kMostNamed = 8;
  for (const std::string& remedy : remedies)
    if (remedy.starts_with("the end of ")) return;
  const std::vector<Holder> holders =
      fewest_that_free(holders_of(waiting.ledger, waiting.snapshot, own, node), node, request);
  if (holders.size() < 2 || holders.size() > kMostNamed) return;
  const auto gone = [&](TaskId task) {
    return std::any_of(holders.begin(), holders.end(),
                       [&](const Holder& holder) { return holder.job == task.job; });
  };
  if (would_start_without(waiting, node_without(node, holders), gone))
    remedies.push_back(words_of_ends(holders));
}

void add_awaited_ends(const Waiting& waiting, const Job& job, std::vector<std::string>& remedies) {
  std::vector<Node> nodes(waiting.snapshot.nodes.begin(), waiting.snapshot.nodes.end());
  Snapshot otherwise = waiting.snapshot;
  otherwise.nodes = nodes;
  std::string remedy;
  for (const Dependency& dependency : job.after) {
    remedy += (remedy.empty() ? "" : " and ") + end_words(dependency);
    std::erase_if(otherwise.running, [&](const RunningView& view) {
      if (view.task.job != dependency.job || waiting.ledger.find_lane(view.lane)->staged > 0)
        return false;
      release(nodes[view.node.value - 1], *view.allocation);
      return true;
    });
  }
  if (would_start(waiting, otherwise)) remedies.push_back(std::move(remedy));
}

}  // namespace tutti
