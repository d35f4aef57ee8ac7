#include "core/policy/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "core/policy/fair_order.h"
#include "core/policy/list_schedule.h"

namespace tutti {
namespace {

// How much of what is scarce something holds: devices for those who want some, else CPUs.
template <typename Holding>
MilliCpu size_of(const Holding& holding, bool devices) {
  return devices ? weight_of(holding) - holding.cpus : holding.cpus;
}

void add(const GroupView& view, std::uint64_t tasks, Ahead& ahead) {
  if (tasks == 0) return;
  if (ahead.tasks == 0) ahead.first = view.heads.front().job;
  ahead.tasks += tasks;
  const Duration p50 = view.p50.value > 0 ? view.p50 : view.bound();
  ahead.known = ahead.known && p50.value > 0;
  if (view.key->ranks.empty()) {
    ahead.work.push_back({&view.request, tasks, p50, view.bound()});
    return;
  }
  for (const ReadyJob& head : view.heads) {
    for (const Request* rank : head.ranks) {
      if (!ahead.work.empty() && ahead.work.back().request == rank)
        ++ahead.work.back().tasks;
      else
        ahead.work.push_back({rank, 1, p50, view.bound()});
    }
  }
}

// What of a node is scarce: devices for those who want some, else CPUs.
MilliCpu capacity_of(const Node& node, bool devices) {
  if (!devices) return node.cpus;
  Allocation whole;
  whole.devices.push_back({{}, {}, MilliGpu(1000)});
  const auto healthy = std::count_if(node.devices.begin(), node.devices.end(),
                                     [](const Device& device) { return device.healthy; });
  return weight_of(whole) * healthy;
}

// How many such tasks an empty node takes, as far as it is not what is scarce that limits them.
std::uint64_t most_on(const Node& node, const Request& request) {
  if (node.state != Node::State::kUp || !could_ever_fit(node, request)) return 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (request.memory.value > 0) most = node.memory.value / request.memory.value;
  if (const MilliCpu each = size_of(request, true); each.value > 0)
    most = std::min(most, capacity_of(node, true).value / each.value);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1));
}

// The course that things take if whatever runs or waits lasts as long as one expectation says.
class Course {
 public:
  Course(const Snapshot& snapshot, bool devices, TimePoint RunningView::*end,
         Duration WorkAhead::*lasts)
      : snapshot_(snapshot),
        devices_(devices),
        lasts_(lasts),
        endings_(snapshot.nodes.size()),
        schedule_(snapshot.nodes.size()) {
    sort_endings(end);
    fill_schedule();
  }

  // When a task starts after what lies ahead; zero: nobody knows.
  TimePoint start_of(const Request& request, const Ahead& ahead);

 private:
  struct Release {
    TimePoint at;
    const Allocation* allocation = nullptr;
  };

  void sort_endings(TimePoint RunningView::*end);
  void fill_schedule();
  TimePoint room_at(const Request& request) const;
  TimePoint put(const WorkAhead& work);
  void keep_node_for(const Request& request);
  Duration time_for(std::span<const WorkAhead> rest) const;

  const Snapshot& snapshot_;
  bool devices_;
  Duration WorkAhead::*lasts_;
  // Of each node: what runs there and ends some time, the first first.
  std::vector<std::vector<Release>> endings_;
  ListSchedule schedule_;
};

void Course::sort_endings(TimePoint RunningView::*end) {
  for (const RunningView& view : snapshot_.running) {
    if (view.*end)
      endings_[view.node.value - 1].push_back(
          {std::max(view.*end, snapshot_.now), view.allocation});
  }
  for (std::vector<Release>& endings : endings_)
    std::stable_sort(endings.begin(), endings.end(),
                     [](const Release& a, const Release& b) { return a.at < b.at; });
}

void Course::fill_schedule() {
  std::vector<MilliCpu> free;
  for (const Node& node : snapshot_.nodes) free.push_back(capacity_of(node, devices_));
  for (const RunningView& view : snapshot_.running)
    free[view.node.value - 1] -= size_of(*view.allocation, devices_);
  for (std::size_t i = 0; i < free.size(); ++i) {
    const Node& node = snapshot_.nodes[i];
    if (!devices_) free[i] = std::min(free[i], node.free_cpus - node.foreign_cpus);
    schedule_.add(i, free[i], snapshot_.now);
    for (const Release& one : endings_[i])
      schedule_.add(i, size_of(*one.allocation, devices_), one.at);
  }
}

// When the request fits some node if nothing else is started; zero: nobody knows.
TimePoint Course::room_at(const Request& request) const {
  TimePoint best;
  for (std::size_t i = 0; i < endings_.size(); ++i) {
    const Node& node = snapshot_.nodes[i];
    if (node.state != Node::State::kUp || !could_ever_fit(node, request)) continue;
    Node later = node;
    TimePoint at = snapshot_.now;
    auto next = endings_[i].begin();
    while (!fits_now(later, request) && next != endings_[i].end()) {
      release(later, *next->allocation);
      at = (next++)->at;
    }
    if (fits_now(later, request) && (!best || at < best)) best = at;
  }
  return best;
}

// When the last of these tasks starts; zero: nobody knows.
TimePoint Course::put(const WorkAhead& work) {
  const TimePoint room = room_at(*work.request);
  if (!room) return {};
  std::vector<std::uint64_t> most;
  for (const Node& node : snapshot_.nodes) most.push_back(most_on(node, *work.request));
  return schedule_.place({.size = size_of(*work.request, devices_),
                          .count = work.tasks,
                          .runs = work.*lasts_,
                          .bound = work.bound,
                          .most = most,
                          .from = room});
}

// For whoever waits until nobody knows when, a node is kept, but for what is beside: reserve_for().
void Course::keep_node_for(const Request& request) {
  for (std::size_t i = 0; i < snapshot_.nodes.size(); ++i) {
    const Node& node = snapshot_.nodes[i];
    if (most_on(node, request) == 0) continue;
    return schedule_.leave(i, capacity_of(node, devices_) - size_of(request, devices_));
  }
}

// How long all nodes need for work that is not looked at one by one.
Duration Course::time_for(std::span<const WorkAhead> rest) const {
  double size = 0;
  for (const Node& node : snapshot_.nodes)
    if (node.state == Node::State::kUp)
      size += static_cast<double>(capacity_of(node, devices_).value);
  double work = 0;
  for (const WorkAhead& one : rest)
    work += static_cast<double>(size_of(*one.request, devices_).value) *
            static_cast<double>(one.tasks) * static_cast<double>((one.*lasts_).value);
  return Duration(static_cast<std::int64_t>(std::min(size > 0 ? work / size : 0, 1e15)));
}

TimePoint Course::start_of(const Request& request, const Ahead& ahead) {
  constexpr std::size_t kMostSteps = 100'000;
  std::size_t steps = 0;
  std::size_t next = 0;
  bool kept = false;
  for (; next < ahead.work.size() && steps < kMostSteps; ++next) {
    const WorkAhead& work = ahead.work[next];
    if (size_of(*work.request, devices_).value == 0) continue;
    steps += schedule_.steps() + snapshot_.running.size();
    if (put(work) || kept) continue;
    keep_node_for(*work.request);
    kept = true;
  }
  if (size_of(request, devices_).value == 0) return room_at(request);
  const TimePoint turn = put({&request, 1, ahead.bound, ahead.bound});
  return turn ? turn + time_for(std::span(ahead.work).subspan(next)) : turn;
}

}  // namespace

Ahead ahead_of(const Snapshot& snapshot, std::size_t position, std::uint64_t older) {
  Ahead ahead;
  // Out of reach it waits for all that is before it, whatever that wants.
  const GroupView& own = snapshot.groups[position];
  const bool devices = own.request.devices.count > 0 && !own.out_of_reach;
  const auto add_group = [&](const GroupView& view, std::uint64_t tasks) {
    if (!devices || size_of(view.request, true).value > 0) add(view, tasks, ahead);
  };
  FairOrder order(snapshot);
  while (const auto next = order.next()) {
    if (*next == position) break;
    // Who waits for a profile takes nothing until it is there, and nobody knows how much then.
    const GroupView& view = snapshot.groups[*next];
    if (view.measured_by.value == 0) add_group(view, view.ready);
    order.remove(*next);
  }
  add_group(own, older);
  ahead.bound = own.bound();
  return ahead;
}

std::string unknown_basis(const Snapshot& snapshot, const char* what) {
  const auto outlasted = std::find_if(snapshot.running.begin(), snapshot.running.end(),
                                      [](const RunningView& view) { return view.outlasted(); });
  if (outlasted == snapshot.running.end())
    return fmt::format("not known: {} has neither --time nor enough earlier runs", what);
  return fmt::format("not known: job {} runs for longer than others of its kind did",
                     outlasted->task.job.value);
}

Forecast forecast(const Snapshot& snapshot, const Request& request, const Ahead& ahead) {
  if (!ahead.known)
    return {{}, {}, "not known: something before it has neither --time nor enough earlier runs"};
  const bool devices = request.devices.count > 0;
  const TimePoint p50 =
      Course(snapshot, devices, &RunningView::likely_end, &WorkAhead::p50).start_of(request, ahead);
  const TimePoint p90 = Course(snapshot, devices, &RunningView::latest_end, &WorkAhead::bound)
                            .start_of(request, ahead);
  if (!p50 || !p90) return {{}, {}, unknown_basis(snapshot, "something before it")};
  return {p50, std::max(p50, p90),
          "time limits and measured run times of what runs and of what waits before it"};
}

}  // namespace tutti
