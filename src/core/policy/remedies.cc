#include "core/policy/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "core/policy/decide.h"
#include "core/policy/holders.h"
#include "core/policy/lacks.h"

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

// The world if its group were another one.
Snapshot with_key(const Waiting& waiting, const GroupKey& key) {
  Snapshot otherwise = waiting.snapshot;
  GroupView& view = otherwise.groups[waiting.position];
  // Whoever comes before all others is within reach.
  if (key.priority > view.key->priority) view.out_of_reach = false;
  view.key = &key;
  const auto adapt = [&](Request& request) {
    request.cpus = key.request.cpus;
    request.memory = key.request.memory;
  };
  adapt(view.request);
  for (Request& choice : view.choices) adapt(choice);
  return otherwise;
}

bool would_start_as(const Waiting& waiting, const GroupKey& key) {
  return would_start(waiting, with_key(waiting, key));
}

// Before everybody else.
GroupKey preferred_key(const Waiting& waiting) {
  GroupKey first = *waiting.snapshot.groups[waiting.position].key;
  first.priority = 1'000'000'000;
  return first;
}

// Something whose end would give room: a job, or of the very job that waits one task.
struct Freeing {
  JobId job;
  std::optional<std::uint32_t> task;
  auto operator<=>(const Freeing&) const = default;
  bool frees(TaskId other) const { return job == other.job && (!task || *task == other.index); }
};

Freeing freeing_of(TaskId running, JobId own) {
  if (running.job == own) return {running.job, running.index};
  return {running.job, {}};
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

using Freeings = std::vector<Freeing>;

constexpr std::size_t kMostEnds = 8;

// What would give room by ending, on one node or (null) on any, in the order in which it is
// expected to end.
Freeings first_to_end(const Waiting& waiting, JobId own, const Node* node) {
  std::map<Freeing, TimePoint> ends;
  for (const RunningView& running : waiting.snapshot.running) {
    // What is staged behind an attempt inherits its room.
    if (waiting.ledger.find_lane(running.lane)->staged > 0) continue;
    if (node != nullptr && running.node != node->id) continue;
    const auto [end, fresh] = ends.try_emplace(freeing_of(running.task, own), running.likely_end);
    const bool known = running.likely_end && end->second;
    if (!fresh) end->second = known ? std::max(end->second, running.likely_end) : TimePoint();
  }
  Freeings order;
  for (const auto& [freeing, end] : ends) order.push_back(freeing);
  std::stable_sort(order.begin(), order.end(), [&](const Freeing& a, const Freeing& b) {
    const TimePoint of_a = ends.at(a);
    const TimePoint of_b = ends.at(b);
    return of_a && (!of_b || of_a < of_b);
  });
  order.resize(std::min(order.size(), kMostEnds));
  return order;
}

// Ends that may start it together, the likeliest first; what is not needed is among them.
std::vector<Freeings> ends_to_try(const Waiting& waiting, JobId own) {
  const GroupView& view = waiting.snapshot.groups[waiting.position];
  std::vector<Freeings> sets;
  if (const Node* node = best_node(waiting.ledger, view.request, view.room)) {
    Freeings few;
    for (const Holder& holder : fewest_that_free(
             holders_of(waiting.ledger, waiting.snapshot, own, *node), *node, view.request))
      few.push_back({holder.job, {}});
    if (few.size() <= kMostEnds) sets.push_back(std::move(few));
    sets.push_back(first_to_end(waiting, own, node));
  }
  sets.push_back(first_to_end(waiting, own, nullptr));
  std::erase_if(sets, [](const Freeings& set) { return set.empty(); });
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  return sets;
}

bool would_start_after(const Waiting& waiting, Snapshot otherwise, const Freeings& ends) {
  std::vector<Node> nodes(otherwise.nodes.begin(), otherwise.nodes.end());
  otherwise.nodes = nodes;
  std::erase_if(otherwise.running, [&](const RunningView& view) {
    const bool gone = std::any_of(ends.begin(), ends.end(),
                                  [&](const Freeing& end) { return end.frees(view.task); });
    if (!gone || waiting.ledger.find_lane(view.lane)->staged > 0) return false;
    release(nodes[view.node.value - 1], *view.allocation);
    return true;
  });
  return would_start(waiting, otherwise);
}

// The first set that is enough, without those of it that are not needed, the last ones first.
std::optional<Freeings> fewest_ends(const Waiting& waiting, const Snapshot& world,
                                    const std::vector<Freeings>& sets) {
  for (Freeings ends : sets) {
    if (!would_start_after(waiting, world, ends)) continue;
    for (std::size_t i = ends.size(); i-- > 0;) {
      Freeings fewer = ends;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (would_start_after(waiting, world, fewer)) ends = std::move(fewer);
    }
    return ends;
  }
  return {};
}

// "jobs 1, 2 and 3", "task 4.1".
std::string listed(const char* what, const std::vector<std::string>& names) {
  std::string text = fmt::format("{}{} ", what, names.size() > 1 ? "s" : "");
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string end_words(const Ledger& ledger, const Freeings& ends) {
  std::vector<std::string> jobs;
  std::vector<std::string> tasks;
  std::string all;
  for (const Freeing& end : ends) {
    std::string name = std::to_string(end.job.value);
    if (end.task) name += fmt::format(".{}", ledger.find_job(end.job)->tasks.label(*end.task));
    all += (all.empty() ? "" : ",") + name;
    (end.task ? tasks : jobs).push_back(std::move(name));
  }
  return fmt::format("the end of {}{}{} (tutti cancel {})", jobs.empty() ? "" : listed("job", jobs),
                     jobs.empty() || tasks.empty() ? "" : " and of ",
                     tasks.empty() ? "" : listed("task", tasks), all);
}

}  // namespace

void add_freeing_jobs(const Waiting& waiting, JobId own, const Node& node, const Request& request,
                      std::vector<std::string>& remedies) {
  constexpr int kMostTried = 20;
  std::map<Freeing, Node> without;
  for (const RunningView& running : waiting.snapshot.running) {
    // What is staged behind an attempt inherits its room.
    if (running.node != node.id || waiting.ledger.find_lane(running.lane)->staged > 0) continue;
    Node& later = without.try_emplace(freeing_of(running.task, own), node).first->second;
    release(later, *running.allocation);
  }
  int tried = 0;
  for (const auto& [freeing, later] : without) {
    if (!fits_now(later, request)) continue;
    if (remedies.size() >= 3 || ++tried > kMostTried) return;
    std::string remedy = end_words(waiting.ledger, {freeing});
    const bool named = std::find(remedies.begin(), remedies.end(), remedy) != remedies.end();
    const auto gone = [&one = freeing](TaskId task) { return one.frees(task); };
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
  const GroupKey first = preferred_key(waiting);
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

void add_combinations(const Waiting& waiting, JobId own, std::vector<std::string>& remedies) {
  const std::vector<Freeings> sets = ends_to_try(waiting, own);
  const auto ends = fewest_ends(waiting, waiting.snapshot, sets);
  if (ends) remedies.push_back(end_words(waiting.ledger, *ends));
  if (ends && ends->size() == 1) return;
  const GroupKey first = preferred_key(waiting);
  const auto fewer = fewest_ends(waiting, with_key(waiting, first), sets);
  if (fewer && !fewer->empty() && (!ends || fewer->size() < ends->size()))
    remedies.push_back("a higher --priority and " + end_words(waiting.ledger, *fewer));
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
