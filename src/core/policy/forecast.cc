#include "core/policy/forecast.h"

#include <algorithm>
#include <vector>

#include "core/policy/fair_order.h"

namespace tutti {
namespace {

double cpu_seconds(const Request& request, Duration ran) {
  return static_cast<double>(request.cpus.value) * 1e-3 * static_cast<double>(ran.value) * 1e-6;
}

void add(const GroupView& view, std::uint64_t tasks, Ahead& ahead) {
  if (tasks == 0) return;
  if (ahead.tasks == 0) ahead.first = view.heads.front().job;
  ahead.tasks += tasks;
  const Duration p50 = view.p50.value > 0 ? view.p50 : view.bound();
  ahead.known = ahead.known && p50.value > 0;
  ahead.cpu_seconds_p50 += static_cast<double>(tasks) * cpu_seconds(view.key->request, p50);
  ahead.cpu_seconds_p90 +=
      static_cast<double>(tasks) * cpu_seconds(view.key->request, view.bound());
}

// When the request fits some node if what runs ends as `end_of` says; zero: cannot be said.
template <typename EndOf>
TimePoint room_at(const Snapshot& snapshot, const Request& request, EndOf end_of) {
  TimePoint best;
  for (const Node& node : snapshot.nodes) {
    if (node.state != Node::State::kUp || !could_ever_fit(node, request)) continue;
    std::vector<const RunningView*> running;
    for (const RunningView& view : snapshot.running) {
      if (view.node == node.id && end_of(view)) running.push_back(&view);
    }
    std::stable_sort(running.begin(), running.end(),
                     [&](const auto* a, const auto* b) { return end_of(*a) < end_of(*b); });
    Node later = node;
    TimePoint at = snapshot.now;
    auto next = running.begin();
    while (!fits_now(later, request) && next != running.end()) {
      release(later, *(*next)->request, *(*next)->allocation);
      at = std::max(at, end_of(**next++));
    }
    if (fits_now(later, request) && (!best || at < best)) best = at;
  }
  return best;
}

// The CPUs of nodes that could run the request, and the work still running there.
struct Capacity {
  double cpus = 0;
  double busy_p50 = 0;
  double busy_p90 = 0;
};

Capacity capacity_for(const Snapshot& snapshot, const Request& request) {
  Capacity capacity;
  for (const Node& node : snapshot.nodes) {
    if (node.state == Node::State::kUp && could_ever_fit(node, request))
      capacity.cpus += static_cast<double>(node.cpus.value) * 1e-3;
  }
  for (const RunningView& view : snapshot.running) {
    const Duration none;
    capacity.busy_p50 += cpu_seconds(*view.request, std::max(view.likely_end - snapshot.now, none));
    capacity.busy_p90 += cpu_seconds(*view.request, std::max(view.bound_end - snapshot.now, none));
  }
  return capacity;
}

TimePoint after_work(TimePoint now, double cpu_seconds_ahead, double busy, double cpus) {
  const double wait = cpu_seconds_ahead == 0 ? 0 : (cpu_seconds_ahead + busy) / cpus;
  return now + Duration(static_cast<std::int64_t>(std::min(wait, 1e9) * 1e6));
}

}  // namespace

Ahead ahead_of(const Snapshot& snapshot, std::size_t position, std::uint64_t older) {
  Ahead ahead;
  FairOrder order(snapshot);
  while (const auto next = order.next()) {
    if (*next == position) break;
    add(snapshot.groups[*next], snapshot.groups[*next].ready, ahead);
    order.remove(*next);
  }
  add(snapshot.groups[position], older, ahead);
  return ahead;
}

Forecast forecast(const Snapshot& snapshot, const Request& request, const Ahead& ahead) {
  const TimePoint room_p50 =
      room_at(snapshot, request, [](const RunningView& view) { return view.likely_end; });
  const TimePoint room_p90 =
      room_at(snapshot, request, [](const RunningView& view) { return view.bound_end; });
  const Capacity capacity = capacity_for(snapshot, request);
  if (!room_p50 || !room_p90 || !ahead.known || capacity.cpus == 0) {
    return {{}, {}, "not known: something before it has neither --time nor enough earlier runs"};
  }
  const TimePoint p50 = std::max(
      room_p50, after_work(snapshot.now, ahead.cpu_seconds_p50, capacity.busy_p50, capacity.cpus));
  const TimePoint p90 = std::max(
      room_p90, after_work(snapshot.now, ahead.cpu_seconds_p90, capacity.busy_p90, capacity.cpus));
  return {p50, std::max(p50, p90),
          "time limits and measured run times of what runs and of what waits before it"};
}

}  // namespace tutti
