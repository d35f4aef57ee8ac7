#include "sim/arena/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr double kRoundS = 300;
// A trace's iterations are this many times what is simulated.
constexpr std::int64_t kTraceScale = 5;

double rounded_sum(double value) {
  return std::nearbyint(value * 1000) / 1000;
}

// Jobs join the round before the one that their time falls into, in the order of the trace.
std::int64_t round_of(const ArenaJob& job, std::int64_t start_s, std::int64_t previous) {
  const std::int64_t after = job.submit_s - start_s;
  const auto round = (after + static_cast<std::int64_t>(kRoundS) - 1) / 300 - 1;
  return std::max({std::int64_t{0}, round, previous});
}

std::uint32_t per_node(const Shape& shape) {
  return shape.devices / shape.nodes;
}

}  // namespace

ArenaRounds::ArenaRounds(std::vector<Pool> pools, ArenaSpeeds speeds, Options options)
    : speeds_(std::move(speeds)),
      options_(options),
      lengths_(options.length, options.seed),
      seats_(pools) {
  set_cluster(pools, run_);
  snapshot_.pools = std::move(pools);
}

RunResult ArenaRounds::run(const std::vector<ArenaJob>& trace, ElasticPolicy& policy) {
  const std::int64_t start_s = trace.front().submit_s;
  auto next = trace.begin();
  std::int64_t joins = round_of(*next, start_s, 0);
  for (std::int64_t round = 0; round < options_.rounds; ++round) {
    snapshot_.now_s = kRoundS * static_cast<double>(round);
    advance();
    while (next != trace.end() && joins <= round) {
      arrive(*next, snapshot_.now_s);
      run_.jobs.back().deadline_s = static_cast<double>(next->deadline_s - start_s);
      if (++next != trace.end()) joins = round_of(*next, start_s, joins);
    }
    if (!live_.empty()) decide(policy);
    count_round();
  }
  run_.horizon_s = kRoundS * static_cast<double>(options_.rounds);
  snapshot_.now_s = run_.horizon_s;
  while (!live_.empty()) {
    const std::size_t last = live_.size() - 1;
    if (snapshot_.jobs.back().current) {
      result_of(last).device_s += kRoundS * shape_of(last).devices;
      stop(last);
    }
    live_.pop_back();
    snapshot_.jobs.pop_back();
  }
  for (const std::size_t at : dropped_)
    run_.jobs[at].queue_s = run_.horizon_s - run_.jobs[at].submit_s;
  if (!dropped_.empty())
    run_.notes.push_back(
        fmt::format("Jobs without any measured speed on this cluster, which never run: {}; the "
                    "first: {}.",
                    dropped_.size(), shown(run_.jobs[dropped_.front()].name)));
  note_late(static_cast<std::size_t>(trace.end() - next), run_);
  return std::move(run_);
}

void ArenaRounds::advance() {
  std::vector<std::size_t> ended;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    ElasticJob& job = snapshot_.jobs[i];
    Live& live = live_[i];
    if (!job.current) continue;
    job.executed_s += kRoundS;
    job.attained_s += kRoundS * shape_of(i).devices;
    result_of(i).device_s += kRoundS * shape_of(i).devices;
    if (live.debt_s > 0) continue;
    live.executed_s += kRoundS;
    const double done = std::floor(live.executed_s / live.speeds[*job.current].iteration_s);
    live.left = live.left_before - static_cast<std::int64_t>(done);
    tell_length(i);
    if (live.left <= 0) ended.push_back(i);
  }
  for (auto i = ended.rbegin(); i != ended.rend(); ++i) end_job(*i);
  while (!events_.empty() && events_.front() <= snapshot_.now_s - 3600) events_.pop_front();
}

void ArenaRounds::end_job(std::size_t at) {
  stop(at);
  result_of(at).finish_s = snapshot_.now_s;
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
  snapshot_.jobs.erase(snapshot_.jobs.begin() + static_cast<std::ptrdiff_t>(at));
  events_.push_back(snapshot_.now_s);
}

void ArenaRounds::arrive(const ArenaJob& job, double submit_s) {
  JobResult result;
  result.name = job.name;
  result.kind = fmt::format("{} {}", job.model, job.size);
  result.submit_s = submit_s;
  result.devices = job.devices;
  run_.jobs.push_back(std::move(result));

  ElasticJob view;
  view.id = JobId(run_.jobs.size());
  view.submitted_s = submit_s;
  view.restart_s = cost(job.devices);
  view.wanted = job.devices;
  for (std::uint32_t p = 0; p < snapshot_.pools.size(); ++p)
    if (snapshot_.pools[p].type == job.type) view.wanted_pool = p;
  Live live;
  live.result = run_.jobs.size() - 1;
  live.speeds = speeds_.all(job, snapshot_.pools);
  live.total = live.left = job.iterations / kTraceScale;
  live.length = lengths_.next();
  for (const ArenaSpeed& speed : live.speeds)
    view.options.push_back({speed.shape, 1 / speed.iteration_s});
  events_.push_back(submit_s);
  // One that runs nowhere is dropped for ever, as the benchmark does.
  if (view.options.empty()) {
    dropped_.push_back(live.result);
    return;
  }
  live_.push_back(std::move(live));
  snapshot_.jobs.push_back(std::move(view));
  tell_length(live_.size() - 1);
}

void ArenaRounds::tell_length(std::size_t at) {
  const Live& live = live_[at];
  snapshot_.jobs[at].remaining = live.length.left(static_cast<double>(live.total),
                                                  static_cast<double>(live.total - live.left));
}

void ArenaRounds::decide(ElasticPolicy& policy) {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    live_[i].started = false;
    snapshot_.jobs[i].starting = live_[i].debt_s > 0;
  }
  snapshot_.events_per_hour = static_cast<double>(events_.size());
  const auto before = std::chrono::steady_clock::now();
  const Choices choices = policy.decide(snapshot_);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
  run_.decision_ms.push_back(took.count());
  TUTTI_CHECK(choices.size() == live_.size());
  apply(choices);
}

void ArenaRounds::apply(const Choices& choices) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const ElasticJob& job = snapshot_.jobs[i];
    TUTTI_CHECK(!choices[i] || *choices[i] < job.options.size());
    if (choices[i] == job.current) continue;
    if (job.current) stop(i);
    if (choices[i]) starts.push_back(i);
  }
  if (options_.placing == ArenaPlacing::kFirstCome)
    seat_first_come(starts, choices);
  else
    seat_packed(std::move(starts), choices);
}

void ArenaRounds::seat_first_come(const std::vector<std::size_t>& starts, const Choices& choices) {
  std::vector<bool> blocked(snapshot_.pools.size());
  for (const std::size_t i : starts) {
    const Shape& shape = snapshot_.jobs[i].options[*choices[i]].shape;
    if (blocked[shape.pool]) continue;
    auto seat = seats_.take_emptiest(shape);
    blocked[shape.pool] = !seat;
    if (seat) start(i, *choices[i], std::move(*seat));
  }
}

void ArenaRounds::seat_packed(std::vector<std::size_t> starts, const Choices& choices) {
  const auto need = [&](std::size_t i) {
    return per_node(snapshot_.jobs[i].options[*choices[i]].shape);
  };
  std::stable_sort(starts.begin(), starts.end(),
                   [&](std::size_t a, std::size_t b) { return need(a) > need(b); });
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const std::size_t i = starts[k];
    const Shape& shape = snapshot_.jobs[i].options[*choices[i]].shape;
    auto seat = seats_.take_fullest(shape);
    std::vector<std::size_t> moved;
    if (!seat && make_room(shape, choices, moved)) seat = seats_.take_fullest(shape);
    if (seat) start(i, *choices[i], std::move(*seat));
    // What moved is smaller: behind all others of its size, it finds a gap or makes one.
    for (const std::size_t m : moved)
      starts.insert(std::find_if(starts.begin() + static_cast<std::ptrdiff_t>(k) + 1, starts.end(),
                                 [&](std::size_t other) { return need(other) < need(m); }),
                    m);
  }
}

std::vector<std::size_t> ArenaRounds::smaller_on(std::uint32_t pool, std::uint32_t node,
                                                 std::uint32_t need) const {
  std::vector<std::size_t> smaller;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (!snapshot_.jobs[i].current || snapshot_.jobs[i].starting || live_[i].started) continue;
    if (shape_of(i).pool != pool || per_node(shape_of(i)) >= need) continue;
    if (std::find(live_[i].seat.begin(), live_[i].seat.end(), node) != live_[i].seat.end())
      smaller.push_back(i);
  }
  return smaller;
}

bool ArenaRounds::make_room(const Shape& shape, const Choices& choices,
                            std::vector<std::size_t>& moved) {
  struct Gap {
    std::uint32_t node = 0;
    std::uint32_t missing = 0;  // devices that others would have to leave
  };
  const std::uint32_t need = per_node(shape);
  std::vector<Gap> gaps;
  for (std::uint32_t node = 0; node < seats_.nodes(shape.pool); ++node) {
    const std::uint32_t free = seats_.free_on(shape.pool, node);
    std::uint32_t movable = 0;
    if (free < need)
      for (const std::size_t i : smaller_on(shape.pool, node, need))
        movable += per_node(shape_of(i));
    if (free + movable >= need) gaps.push_back({node, need - std::min(need, free)});
  }
  if (gaps.size() < shape.nodes) return false;
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const Gap& a, const Gap& b) { return a.missing < b.missing; });
  gaps.resize(shape.nodes);
  for (const Gap& gap : gaps) {
    for (const std::size_t i : smaller_on(shape.pool, gap.node, need)) {
      if (seats_.free_on(shape.pool, gap.node) >= need) break;
      TUTTI_CHECK(choices[i].has_value());
      stop(i);
      moved.push_back(i);
    }
  }
  return true;
}

void ArenaRounds::start(std::size_t at, std::size_t option, Seat seat) {
  Live& live = live_[at];
  ElasticJob& job = snapshot_.jobs[at];
  JobResult& result = result_of(at);
  job.current = option;
  live.seat = std::move(seat);
  live.left_before = live.left;
  live.executed_s = 0;
  live.started = true;
  live.run_from_s = snapshot_.now_s;
  const double price = cost(shape_of(at).devices);
  live.debt_s = price > kRoundS ? price : 0;
  if (result.first_start_s) ++result.restarts;
  if (!result.first_start_s) result.first_start_s = snapshot_.now_s;
  job.restarts = result.restarts;
}

void ArenaRounds::stop(std::size_t at) {
  Live& live = live_[at];
  ElasticJob& job = snapshot_.jobs[at];
  const Shape shape = shape_of(at);
  seats_.give_back(shape, live.seat);
  live.debt_s = 0;
  job.current.reset();
  const Pool& pool = snapshot_.pools[shape.pool];
  JobSpan span{live.run_from_s, snapshot_.now_s, pool.type, {}};
  for (const std::uint32_t node : live.seat)
    span.nodes.insert(span.nodes.end(), per_node(shape), pool_node_name(pool, node));
  result_of(at).spans.push_back(std::move(span));
  live.seat.clear();
}

double ArenaRounds::reported(Live& live, const ElasticJob& job) {
  const ArenaSpeed& speed = live.speeds[*job.current];
  if (live.debt_s > kRoundS) {
    live.debt_s -= kRoundS;
    return 0;
  }
  // A start that costs less than a round only lowers what the round reports.
  const double lost = live.debt_s > 0 ? live.debt_s : live.started ? cost(speed.shape.devices) : 0;
  live.debt_s = 0;
  return speed.samples_per_s * (kRoundS - lost) / kRoundS;
}

void ArenaRounds::count_round() {
  ClusterSample sample;
  sample.at_s = snapshot_.now_s;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const ElasticJob& job = snapshot_.jobs[i];
    if (job.current) sample.throughput += reported(live_[i], job);
    if (!job.current) result_of(i).queue_s += kRoundS;
    ++(job.current ? sample.running : sample.waiting);
  }
  sample.throughput = rounded_sum(sample.throughput);
  sample.devices_used = seats_.used();
  sample.devices_stranded = seats_.stranded();
  run_.samples.push_back(sample);
}

double ArenaRounds::cost(std::uint32_t devices) const {
  return options_.cost == ArenaRestartCost::kCrius ? std::min(10.0 * devices, 40.0)
                                                   : std::min(150.0 * devices, 600.0);
}

const Shape& ArenaRounds::shape_of(std::size_t at) const {
  const ElasticJob& job = snapshot_.jobs[at];
  return job.options[*job.current].shape;
}

}  // namespace tutti
