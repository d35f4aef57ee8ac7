#include "core/policy/forecast.h"

#include <algorithm>
#include <vector>

#include "core/policy/fair_order.h"

namespace tutti {
namespace {

double seconds_of(MilliCpu size, Duration ran) {
  return static_cast<double>(size.value) * 1e-3 * static_cast<double>(ran.value) * 1e-6;
}

// How much of what is scarce something holds: devices for those who want some, else CPUs.
template <typename Holding>
MilliCpu size_of(const Holding& holding, bool devices) {
  return devices ? weight_of(holding) - holding.cpus : holding.cpus;
}

void add(const GroupView& view, std::uint64_t tasks, bool devices, Ahead& ahead) {
  const MilliCpu size = size_of(view.request, devices);
  if (tasks == 0 || (devices && size.value == 0)) return;
  if (ahead.tasks == 0) ahead.first = view.heads.front().job;
  ahead.tasks += tasks;
  const Duration p50 = view.p50.value > 0 ? view.p50 : view.bound();
  ahead.known = ahead.known && p50.value > 0;
  ahead.seconds_p50 += static_cast<double>(tasks) * seconds_of(size, p50);
  ahead.seconds_p90 += static_cast<double>(tasks) * seconds_of(size, view.bound());
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
      release(later, *(*next)->allocation);
      at = std::max(at, end_of(**next++));
    }
    if (fits_now(later, request) && (!best || at < best)) best = at;
  }
  return best;
}

// The CPUs or devices of nodes that could run the request, and the work still running there.
struct Capacity {
  double size = 0;
  double busy_p50 = 0;
  double busy_p90 = 0;
};

Capacity capacity_for(const Snapshot& snapshot, const Request& request) {
  Capacity capacity;
  const bool devices = request.devices.count > 0;
  Allocation whole;
  whole.devices.push_back({{}, {}, MilliGpu(1000)});
  for (const Node& node : snapshot.nodes) {
    if (node.state != Node::State::kUp || !could_ever_fit(node, request)) continue;
    const MilliCpu size =
        devices ? weight_of(whole) * static_cast<std::int64_t>(node.devices.size()) : node.cpus;
    capacity.size += static_cast<double>(size.value) * 1e-3;
  }
  for (const RunningView& view : snapshot.running) {
    const Duration none;
    const MilliCpu size = size_of(*view.allocation, devices);
    capacity.busy_p50 += seconds_of(size, std::max(view.likely_end - snapshot.now, none));
    capacity.busy_p90 += seconds_of(size, std::max(view.bound_end - snapshot.now, none));
  }
  return capacity;
}

TimePoint after_work(TimePoint now, double ahead, double busy, double size) {
  const double wait = ahead == 0 ? 0 : (ahead + busy) / size;
  return now + Duration(static_cast<std::int64_t>(std::min(wait, 1e9) * 1e6));
}

}  // namespace

Ahead ahead_of(const Snapshot& snapshot, std::size_t position, std::uint64_t older) {
  Ahead ahead;
  const bool devices = snapshot.groups[position].request.devices.count > 0;
  FairOrder order(snapshot);
  while (const auto next = order.next()) {
    if (*next == position) break;
    add(snapshot.groups[*next], snapshot.groups[*next].ready, devices, ahead);
    order.remove(*next);
  }
  add(snapshot.groups[position], older, devices, ahead);
  return ahead;
}

Forecast forecast(const Snapshot& snapshot, const Request& request, const Ahead& ahead) {
  const TimePoint room_p50 =
      room_at(snapshot, request, [](const RunningView& view) { return view.likely_end; });
  const TimePoint room_p90 =
      room_at(snapshot, request, [](const RunningView& view) { return view.bound_end; });
  const Capacity capacity = capacity_for(snapshot, request);
  if (!room_p50 || !room_p90 || !ahead.known || capacity.size == 0) {
    return {{}, {}, "not known: something before it has neither --time nor enough earlier runs"};
  }
  const TimePoint p50 = std::max(
      room_p50, after_work(snapshot.now, ahead.seconds_p50, capacity.busy_p50, capacity.size));
  const TimePoint p90 = std::max(
      room_p90, after_work(snapshot.now, ahead.seconds_p90, capacity.busy_p90, capacity.size));
  return {p50, std::max(p50, p90),
          "time limits and measured run times of what runs and of what waits before it"};
}

}  // namespace tutti
