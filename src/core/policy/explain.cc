#include "core/policy/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"
#include "core/plan/configurations.h"
#include "core/plan/demand.h"
#include "core/plan/snapshot.h"
#include "core/policy/decide.h"
#include "core/policy/explain_gang.h"
#include "core/policy/forecast.h"
#include "core/policy/holders.h"
#include "core/policy/lacks.h"

namespace tutti {
namespace {

// Whether the job of the group has as many tasks there as its own limits allow.
bool is_used_up(const GroupView& view, const Node& node) {
  return !view.room.empty() && view.room[node.id.value - 1] == 0;
}

// Nodes on which the job has as many tasks as it may, if there are any.
void add_node_limit(const Ledger& ledger, const GroupView& view, Explanation& answer) {
  constexpr std::size_t kMostNamed = 3;
  Reason reason{.code = ReasonCode::kNodeLimit};
  std::size_t nodes = 0;
  for (const NodeLimit& limit : ledger.group(view.group).node_limits) {
    const Node* node = ledger.find_node(limit.node);
    if (node == nullptr || node->state != Node::State::kUp || !is_used_up(view, *node)) continue;
    reason.count += limit.tasks;
    if (++nodes > kMostNamed) continue;
    reason.detail += nodes > 1 ? fmt::format(", {} on {}", limit.tasks, node->name)
                               : fmt::format("{} task{} at once on {}", limit.tasks,
                                             limit.tasks == 1 ? "" : "s", node->name);
  }
  if (nodes == 0) return;
  if (nodes > kMostNamed)
    reason.detail += fmt::format(", and so on for {} more nodes", nodes - kMostNamed);
  answer.reasons.push_back(std::move(reason));
  answer.remedies.push_back("the end of one of its job's running tasks");
  answer.basis = "not known: it depends on when tasks of its own job end";
}

std::optional<std::size_t> position_of(const Snapshot& snapshot, std::uint32_t group) {
  for (std::size_t i = 0; i < snapshot.groups.size(); ++i) {
    if (snapshot.groups[i].group == group) return i;
  }
  return std::nullopt;
}

// Ready tasks of the same group that are taken before this one.
std::uint64_t older_in_group(const Ledger& ledger, const Job& job, std::uint32_t task) {
  std::uint64_t older = 0;
  for (const JobId id : ledger.group(job.group).ready) {
    if (id >= job.id) break;
    older += ledger.find_job(id)->listed;
  }
  for (const std::uint32_t index : job.again) older += index < task ? 1 : 0;
  for (std::uint32_t index = job.next_fresh; index < std::min<std::size_t>(task, job.slots.size());
       ++index)
    older += job.slots[index].state == TaskState::kQueued && job.slots[index].attempts == 0 ? 1 : 0;
  const auto untouched =
      static_cast<std::uint32_t>(std::max<std::size_t>(job.slots.size(), job.next_fresh));
  return older + (task > untouched ? task - untouched : 0);
}

// The world in which a task waits. Remedies are not guessed: each is tried on decide().
struct Waiting {
  const Ledger& ledger;
  const Snapshot& snapshot;
  std::size_t position = 0;  // of its group
  std::uint64_t older = 0;   // tasks of its group that come before it
};

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

// Single running jobs whose end would start it, at most three, oldest first. Its own job's end
// would take it away too, so that of that one single tasks are named.
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

void add_priority(const Waiting& waiting, std::vector<std::string>& remedies) {
  constexpr std::int32_t kFirst = 1'000'000'000;
  GroupKey first = *waiting.snapshot.groups[waiting.position].key;
  first.priority = kFirst;
  if (would_start_as(waiting, first))
    remedies.push_back("a higher --priority than what waits before it");
}

// Where no single end is enough: several that are so together.
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

// What the reasons are about: of several configurations the best that is free, else the best.
const Request& explained_request(const Ledger& ledger, const GroupView& view) {
  for (const Request& choice : view.choices) {
    const Node* node = best_node(ledger, choice, view.room);
    if (node != nullptr && fits_now(*node, choice)) return choice;
  }
  return view.request;
}

// Its configurations, and the one that an allocation is of.
void add_configurations(const Ledger& ledger, const Job& job, const Allocation* taken,
                        Explanation& answer) {
  const Group& group = ledger.group(job.group);
  if (group.key.request.configurations.empty()) return;
  const Node* node = taken == nullptr ? nullptr : ledger.find_node(taken->node);
  bool found = false;
  for (const RankedConfiguration& one :
       rank_configurations(group, ledger.profile(group.key.kind), ledger.nodes())) {
    const bool is_it =
        !found && node != nullptr && taken->devices.size() == one.configuration.count &&
        is_of_type(node->devices.at(taken->devices.front().id.value).type, one.configuration.type);
    found = found || is_it;
    answer.configurations.push_back({one.configuration, text_of(one), is_it});
  }
}

// What a task of the group would be granted now; null: nothing.
const Allocation* next_grant(const Plan& plan, std::uint32_t group) {
  for (const Start& start : plan.starts)
    if (start.group == group && !start.staged) return &start.allocation;
  return nullptr;
}

void explain_ready(const Waiting& waiting, const Job& job, Explanation& answer) {
  const Ledger& ledger = waiting.ledger;
  const Snapshot& snapshot = waiting.snapshot;
  const GroupView& view = snapshot.groups[waiting.position];
  const Request& request = explained_request(ledger, view);
  if (view.measured_by.value > 0) {
    answer.reasons.push_back({.code = ReasonCode::kProfile,
                              .job = view.measured_by,
                              .until = view.measured_until,
                              .detail = view.key->kind});
    answer.remedies.push_back("stating what it needs: --gpu-mem SIZE");
    answer.expected_start_p50 = answer.expected_start_p90 = view.measured_until;
    answer.basis = view.measured_until
                       ? "the end of the run that is measured, if there is room then"
                       : "not known: it depends on when that run ends";
    return;
  }
  const Ahead ahead = ahead_of(snapshot, waiting.position, waiting.older);
  const Node* node = best_node(ledger, request, view.room);
  const bool fits = node != nullptr && fits_now(*node, request);
  if (!fits) add_node_limit(ledger, view, answer);
  if (node == nullptr) {
    if (!answer.reasons.empty()) return;
    answer.reasons.push_back({.code = ReasonCode::kNodes, .detail = closed_nodes(ledger, request)});
    for (const Node& up : ledger.nodes())
      if (answer.remedies.empty()) add_smaller_requests(waiting, up, request, answer.remedies);
    answer.basis = "not known: no node takes it at present";
    return;
  }
  if (!fits) {
    add_lacks(*node, request, answer.reasons);
    add_smaller_requests(waiting, *node, request, answer.remedies);
    add_freeing_jobs(waiting, job.id, *node, request, answer.remedies);
    for (const Request& choice : view.choices) {
      if (const Node* other = best_node(ledger, choice, view.room))
        add_freeing_jobs(waiting, job.id, *other, choice, answer.remedies);
    }
  }
  if (ahead.tasks > 0) {
    answer.reasons.push_back(
        {.code = ReasonCode::kBehind, .job = ahead.first, .count = ahead.tasks});
    if (fits) add_priority(waiting, answer.remedies);
  }
  if (!fits) add_freeing_set(waiting, job.id, *node, request, answer.remedies);
  const Plan plan = decide(snapshot);
  add_configurations(ledger, job, next_grant(plan, job.group), answer);
  if (fits && plan.reservation && plan.reservation->group != job.group &&
      plan.reservation->on(node->id) != nullptr) {
    const JobId head = *ledger.group(plan.reservation->group).ready.begin();
    answer.reasons.push_back({.code = ReasonCode::kReserved, .job = head, .node = node->name});
  }
  if (answer.reasons.empty()) answer.reasons.push_back({.code = ReasonCode::kStarting});
  const Forecast expected = forecast(snapshot, request, ahead);
  answer.expected_start_p50 = expected.p50;
  answer.expected_start_p90 = expected.p90;
  answer.basis = expected.basis;
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

// The ends of all that it waits for, if they leave enough room.
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

// Of jobs that wait for each other in a row, so many are looked at to say when the last starts.
constexpr int kLongestRow = 8;

Explanation explain_in_row(const Ledger& ledger, JobId id, std::uint32_t task, TimePoint now,
                           int row);

// When a job is expected to have ended; zero: cannot be said.
Forecast expected_end(const Ledger& ledger, const Job& job, const Snapshot& snapshot, int row) {
  Forecast end;
  std::uint32_t running = 0;
  for (const RunningView& view : snapshot.running) {
    if (view.task.job != job.id) continue;
    if (!view.likely_end || !view.latest_end) return {};
    end.p50 = std::max(end.p50, view.likely_end);
    end.p90 = std::max(end.p90, view.latest_end);
    ++running;
  }
  if (job.counts.unfinished() == running) return end;
  // How many tasks are spread over time is not foreseen.
  if (job.tasks.count > 1 || row == 0) return {};
  const Explanation why = explain_in_row(ledger, job.id, 0, snapshot.now, row - 1);
  Snapshot with = snapshot;
  const GroupView& view = with.groups[add_as_ready(ledger, job, with)];
  if (!why.expected_start_p50 || !why.expected_start_p90 || view.bound().value == 0) return {};
  return {why.expected_start_p50 + (view.p50.value > 0 ? view.p50 : view.bound()),
          why.expected_start_p90 + view.bound(),
          {}};
}

// Whether what the job waits for would make the other ready too.
bool is_freed_with(const Job& other, const Job& job) {
  return std::all_of(other.after.begin(), other.after.end(), [&](const Dependency& one) {
    return std::find(job.after.begin(), job.after.end(), one) != job.after.end();
  });
}

// Takes out what a job has ready. Returns how many tasks that is.
std::uint64_t take_out(const Job& job, Snapshot& snapshot) {
  const auto position = position_of(snapshot, job.group);
  if (job.listed == 0 || !position) return 0;
  GroupView& view = snapshot.groups[*position];
  view.ready -= job.listed;
  std::erase_if(view.heads, [&](const ReadyJob& head) { return head.job == job.id; });
  if (!view.heads.empty()) return job.listed;
  const auto offset = static_cast<std::ptrdiff_t>(*position);
  snapshot.groups.erase(snapshot.groups.begin() + offset);
  snapshot.held.erase(snapshot.held.begin() + offset);
  return job.listed;
}

// What the queue will be when all that the job waits for has ended: they are gone, and it is there,
// with whoever becomes ready with it.
Waiting once_ready(const Ledger& ledger, const Job& job, std::uint32_t task, Snapshot& snapshot) {
  std::uint64_t older = older_in_group(ledger, job, task);
  for (const Dependency& dependency : job.after) {
    const Job& awaited = *ledger.find_job(dependency.job);
    const std::uint64_t gone = take_out(awaited, snapshot);
    if (awaited.group == job.group) older -= gone;
  }
  Waiting waiting{ledger, snapshot, add_as_ready(ledger, job, snapshot), older};
  std::set<JobId> others;
  for (const auto& [id, other] : ledger.jobs()) {
    if (!other.after.empty() && !other.finished_at && id != job.id &&
        ledger.ranks_of(other).empty() && is_freed_with(other, job))
      others.insert(id);
  }
  for (const JobId id : others) {
    const Job& other = *ledger.find_job(id);
    add_as_ready(ledger, other, snapshot);
    if (other.group == job.group && id < job.id) waiting.older += other.counts[TaskState::kQueued];
  }
  return waiting;
}

// What else would keep it if those that it waits for had ended as it wishes, and when that will be.
void explain_dependent(const Ledger& ledger, const Job& job, TimePoint now, int row,
                       Explanation& answer) {
  Snapshot snapshot = snapshot_of(ledger, now);
  const Waiting waiting = once_ready(ledger, job, answer.task, snapshot);
  Explanation then{.job = job.id, .task = answer.task};
  explain_ready(waiting, job, then);
  for (Reason& reason : then.reasons)
    if (reason.code != ReasonCode::kStarting) answer.reasons.push_back(std::move(reason));
  add_awaited_ends(waiting, job, answer.remedies);
  answer.basis = then.basis;
  if (!then.expected_start_p50) return;
  for (const Dependency& dependency : job.after) {
    const Forecast end = expected_end(ledger, *ledger.find_job(dependency.job), snapshot, row);
    if (!end.p50) {
      answer.basis =
          fmt::format("not known: it cannot be said when job {} ends", dependency.job.value);
      return;
    }
    then.expected_start_p50 = std::max(then.expected_start_p50, end.p50);
    then.expected_start_p90 = std::max(then.expected_start_p90, end.p90);
  }
  answer.expected_start_p50 = then.expected_start_p50;
  answer.expected_start_p90 = then.expected_start_p90;
}

Explanation explain_in_row(const Ledger& ledger, JobId id, std::uint32_t task, TimePoint now,
                           int row) {
  const Job* found = ledger.find_job(id);
  TUTTI_CHECK(found != nullptr && task < found->tasks.count);
  const Job& job = *found;
  Explanation answer{.job = id, .task = task, .state = job.state_of(task)};
  if (answer.state != TaskState::kQueued) {
    const ActiveAttempt* attempt = ledger.find_active({id, task});
    if (attempt != nullptr) add_configurations(ledger, job, &attempt->allocation, answer);
    return answer;
  }

  for (const Dependency& dependency : job.after)
    answer.reasons.push_back(
        {.code = ReasonCode::kDependency, .job = dependency.job, .when = dependency.when});
  if (!job.after.empty()) answer.basis = "not known: it depends on when those jobs end";
  if (const TimePoint until = ledger.not_before({id, task})) {
    answer.reasons.push_back({.code = ReasonCode::kBackoff, .until = until});
    answer.expected_start_p50 = answer.expected_start_p90 = until;
    answer.basis = "the end of its back-off, if there is room then";
  }
  if (!ledger.ranks_of(job).empty()) {
    if (answer.reasons.empty()) explain_rank(ledger, job, now, answer);
    return answer;
  }
  if (!job.after.empty()) {
    explain_dependent(ledger, job, now, row, answer);
    return answer;
  }
  if (job.tasks.max_parallel > 0 && job.counts.active() >= job.tasks.max_parallel) {
    answer.reasons.push_back({.code = ReasonCode::kArrayLimit, .count = job.tasks.max_parallel});
    answer.remedies.push_back("the end of one of its job's running tasks");
  }
  if (!answer.reasons.empty()) return answer;
  const Snapshot snapshot = snapshot_of(ledger, now);
  if (const auto position = position_of(snapshot, job.group))
    explain_ready({ledger, snapshot, *position, older_in_group(ledger, job, task)}, job, answer);
  return answer;
}

}  // namespace

Explanation explain(const Ledger& ledger, JobId id, std::uint32_t task, TimePoint now) {
  return explain_in_row(ledger, id, task, now, kLongestRow);
}

Explanation explain_submission(Ledger& ledger, const JobFacts& facts, TimePoint now) {
  Changes discarded;
  ledger.apply({now, JobSubmitted{facts}}, discarded);
  Explanation answer = explain(ledger, facts.id, 0, now);
  ledger.apply({now, CancelRequested{facts.id, {}}}, discarded);
  ledger.retire({facts.id});
  return answer;
}

namespace {

// A node elsewhere that could run what stays on this machine for want of --on; null: none.
const Node* possible_elsewhere(const std::vector<Node>& nodes, const Request& request) {
  if (!request.labels.empty()) return nullptr;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) {
    Request there = request;
    there.labels = {node.name};
    return could_ever_fit(node, there);
  });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace

std::string impossible(const Ledger& ledger, const Request& request) {
  if (!request.configurations.empty()) {
    const std::vector<Request> variants = variants_of(request);
    for (const Request& variant : variants)
      if (impossible(ledger, variant).empty()) return {};
    return impossible(ledger, variants.front());
  }
  const std::vector<Node>& nodes = ledger.nodes();
  if (nodes.empty()) return {};
  for (const Node& node : nodes) {
    if (could_ever_fit(node, request)) return {};
  }
  if (const std::string label = unknown_label(nodes, request); !label.empty()) {
    return fmt::format(
        "no node is called '{}' or has it as a label; see 'tutti nodes', or add one with 'tutti "
        "nodes add'",
        label);
  }
  const std::string wanted = lacking_everywhere(nodes, request);
  if (const Node* node = possible_elsewhere(nodes, request))
    return fmt::format(
        "this machine could never run it: it wants {}. Jobs with --on {} run there, where it fits.",
        wanted, node->name);
  return fmt::format("no node could ever run it: it wants {}. Ask for less, or add a node.",
                     wanted);
}

std::string impossible_kind(const Ledger& ledger, const Request& request, const std::string& kind) {
  MiB need;
  for (const Request& variant : variants_of(request)) {
    const MiB unmet = unmet_need(variant, ledger.profile(kind), device_types(ledger.nodes()));
    if (unmet.value == 0) return {};
    need = std::max(need, unmet);
  }
  return fmt::format(
      "no GPU is large enough: runs of kind {} needed {} MiB of GPU memory. Make it smaller, add a "
      "larger GPU, or have it measured anew: tutti profile forget {}",
      kind, need.value, kind);
}

}  // namespace tutti
