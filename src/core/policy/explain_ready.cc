#include "core/policy/explain_ready.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/configurations.h"
#include "core/policy/decide.h"
#include "core/policy/forecast.h"
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

// What the reasons are about: of several configurations the best that is free, else the best.
const Request& explained_request(const Ledger& ledger, const GroupView& view) {
  for (const Request& choice : view.choices) {
    const Node* node = best_node(ledger, choice, view.room);
    if (node != nullptr && fits_now(*node, choice)) return choice;
  }
  return view.request;
}

// What the task of the group behind so many others of it would be granted now; null: nothing.
const Allocation* grant_of(const Plan& plan, std::uint32_t group, std::uint64_t older) {
  for (const Start& start : plan.starts)
    if (start.group == group && !start.staged && older-- == 0) return &start.allocation;
  return nullptr;
}

// Until its kind has been measured nobody knows on which devices it fits.
void explain_measuring(const GroupView& view, Explanation& answer) {
  answer.reasons.push_back({.code = ReasonCode::kProfile,
                            .job = view.measured_by,
                            .until = view.measured_until,
                            .detail = view.key->kind});
  answer.remedies.push_back("stating what it needs: --gpu-mem SIZE");
  answer.expected_start_p50 = answer.expected_start_p90 = view.measured_until;
  answer.basis = view.measured_until ? "the end of the run that is measured, if there is room then"
                                     : "not known: it depends on when that run ends";
}

void set_expected(const Forecast& expected, Explanation& answer) {
  answer.expected_start_p50 = expected.p50;
  answer.expected_start_p90 = expected.p90;
  answer.basis = expected.basis;
}

// Others may be before it in the queue: it passes those that wait for what it does not need.
void explain_starting(const Waiting& waiting, const Request& request, Explanation& answer) {
  answer.reasons.push_back({.code = ReasonCode::kStarting});
  Ahead nobody;
  nobody.bound = waiting.snapshot.groups[waiting.position].bound();
  set_expected(forecast(waiting.snapshot, request, nobody), answer);
}

// No node that could run it is up, or takes more of its job.
void explain_closed(const Waiting& waiting, const Request& request, Explanation& answer) {
  if (!answer.reasons.empty()) return;
  const Ledger& ledger = waiting.ledger;
  answer.reasons.push_back({.code = ReasonCode::kNodes, .detail = closed_nodes(ledger, request)});
  add_resumed_nodes(waiting, answer.remedies);
  for (const Node& up : ledger.nodes())
    if (answer.remedies.empty()) add_smaller_requests(waiting, up, request, answer.remedies);
  answer.basis = "not known: no node takes it at present";
}

// What the best node lacks, and what would give it, there or where its other configurations go.
void explain_lacks(const Waiting& waiting, JobId own, const Node& node, const Request& request,
                   Explanation& answer) {
  const GroupView& view = waiting.snapshot.groups[waiting.position];
  add_lacks(node, request, answer.reasons);
  add_smaller_requests(waiting, node, request, answer.remedies);
  add_freeing_jobs(waiting, own, node, request, answer.remedies);
  for (const Request& choice : view.choices) {
    if (const Node* other = best_node(waiting.ledger, choice, view.room))
      add_freeing_jobs(waiting, own, *other, choice, answer.remedies);
  }
  add_freeing_set(waiting, own, node, request, answer.remedies);
}

// Room on the node that is kept for a job of another group.
void add_reservation(const Ledger& ledger, const Plan& plan, std::uint32_t group, const Node& node,
                     Explanation& answer) {
  if (!plan.reservation || plan.reservation->group == group ||
      plan.reservation->on(node.id) == nullptr)
    return;
  const JobId head = *ledger.group(plan.reservation->group).ready.begin();
  answer.reasons.push_back({.code = ReasonCode::kReserved, .job = head, .node = node.name});
}

}  // namespace

void explain_ready(const Waiting& waiting, const Job& job, Explanation& answer) {
  const Ledger& ledger = waiting.ledger;
  const GroupView& view = waiting.snapshot.groups[waiting.position];
  if (view.measured_by.value > 0) {
    add_configurations(ledger, job, nullptr, answer);
    return explain_measuring(view, answer);
  }
  const Plan plan = decide(waiting.snapshot);
  const Allocation* granted = grant_of(plan, job.group, waiting.older);
  const Request& request = explained_request(ledger, view);
  if (granted != nullptr) {
    add_configurations(ledger, job, granted, answer);
    return explain_starting(waiting, request, answer);
  }
  const Node* node = best_node(ledger, request, view.room);
  const bool fits = node != nullptr && fits_now(*node, request);
  if (!fits) add_node_limit(ledger, view, answer);
  if (node == nullptr) {
    add_configurations(ledger, job, nullptr, answer);
    return explain_closed(waiting, request, answer);
  }
  if (!fits) explain_lacks(waiting, job.id, *node, request, answer);
  const Ahead ahead = ahead_of(waiting.snapshot, waiting.position, waiting.older);
  if (ahead.tasks > 0) {
    answer.reasons.push_back(
        {.code = ReasonCode::kBehind, .job = ahead.first, .count = ahead.tasks});
    if (fits) add_priority(waiting, answer.remedies);
  }
  add_configurations(ledger, job, nullptr, answer);
  if (fits) add_reservation(ledger, plan, job.group, *node, answer);
  if (answer.reasons.empty()) answer.reasons.push_back({.code = ReasonCode::kStarting});
  set_expected(forecast(waiting.snapshot, request, ahead), answer);
}

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

}  // namespace tutti
