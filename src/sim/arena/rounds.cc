#include "sim/arena/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr double kRoundS = 300;
// The first decision falls on the first round's beginning, and the cluster's first on its end.
constexpr double kBefore = kRoundS;
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

}  // namespace

ArenaRounds::ArenaRounds(std::vector<Pool> pools, ArenaSpeeds speeds, ElasticPolicy& policy,
                         Options options)
    : pools_(std::move(pools)),
      speeds_(std::move(speeds)),
      options_(options),
      lengths_(options.length, options.seed),
      cluster_(pools_, policy, *this, {.placing = options.placing, .round_s = kRoundS}) {
  set_cluster(pools_, run_);
}

RunResult ArenaRounds::run(const std::vector<ArenaJob>& trace) {
  const std::int64_t start_s = trace.front().submit_s;
  auto next = trace.begin();
  std::int64_t joins = round_of(*next, start_s, 0);
  for (std::int64_t round = 0; round < options_.rounds; ++round) {
    now_s_ = kRoundS * static_cast<double>(round);
    advance();
    while (next != trace.end() && joins <= round) {
      arrive(*next);
      run_.jobs.back().deadline_s = static_cast<double>(next->deadline_s - start_s);
      if (++next != trace.end()) joins = round_of(*next, start_s, joins);
    }
    cluster_.move_to(kBefore + now_s_);
    apply();
    count_round();
  }
  run_.horizon_s = now_s_ = kRoundS * static_cast<double>(options_.rounds);
  stop_all();
  for (const std::size_t at : dropped_)
    run_.jobs[at].queue_s = run_.horizon_s - run_.jobs[at].submit_s;
  if (!dropped_.empty())
    run_.notes.push_back(
        fmt::format("Jobs without any measured speed on this cluster, which never run: {}; the "
                    "first: {}.",
                    dropped_.size(), shown(run_.jobs[dropped_.front()].name)));
  note_late(static_cast<std::size_t>(trace.end() - next), run_);
  run_.decision_ms = cluster_.decision_ms();
  return std::move(run_);
}

// What still runs has its devices to the end of the last round.
void ArenaRounds::stop_all() {
  for (auto& [id, live] : live_) {
    if (live.speed == nullptr) continue;
    result_of(live).device_s += kRoundS * live.speed->shape.devices;
    stop(live);
  }
}

void ArenaRounds::advance() {
  for (auto it = live_.begin(); it != live_.end();) {
    Live& live = it->second;
    if (!has_advanced_to_end(live)) {
      ++it;
      continue;
    }
    stop(live);
    result_of(live).finish_s = now_s_;
    cluster_.finish(it->first, kBefore + now_s_);
    it = live_.erase(it);
  }
}

bool ArenaRounds::has_advanced_to_end(Live& live) {
  if (live.speed == nullptr) return false;
  result_of(live).device_s += kRoundS * live.speed->shape.devices;
  if (live.debt_s > 0) return false;
  live.executed_s += kRoundS;
  const double done = std::floor(live.executed_s / live.speed->iteration_s);
  live.left = live.left_before - static_cast<std::int64_t>(done);
  return live.left <= 0;
}

void ArenaRounds::arrive(const ArenaJob& job) {
  JobResult result;
  result.name = job.name;
  result.kind = fmt::format("{} {}", job.model, job.size);
  result.submit_s = now_s_;
  result.devices = job.devices;
  run_.jobs.push_back(std::move(result));

  Live live;
  live.result = run_.jobs.size() - 1;
  live.speeds = speeds_.all(job, pools_);
  live.total = live.left = job.iterations / kTraceScale;
  live.length = lengths_.next();
  live.wanted = job.devices;
  for (std::uint32_t p = 0; p < pools_.size(); ++p)
    if (pools_[p].type == job.type) live.wanted_pool = p;
  // One that runs nowhere is dropped for ever, as the benchmark does.
  if (live.speeds.empty()) {
    dropped_.push_back(live.result);
    return;
  }
  std::uint32_t most_nodes = 1;
  for (const ArenaSpeed& speed : live.speeds) most_nodes = std::max(most_nodes, speed.shape.nodes);
  live_.emplace(cluster_.submit(kBefore + now_s_, most_nodes), std::move(live));
}

ElasticJob ArenaRounds::describe(JobId job, std::span<const Pool> /*pools*/) {
  Live& live = live_.at(job);
  live.started = false;
  ElasticJob view;
  view.restart_s = cost(live.wanted);
  view.restarts = result_of(live).restarts;
  view.wanted = live.wanted;
  view.wanted_pool = live.wanted_pool;
  view.starting = live.debt_s > 0;
  view.remaining = live.length.left(static_cast<double>(live.total),
                                    static_cast<double>(live.total - live.left));
  for (const ArenaSpeed& speed : live.speeds)
    view.options.push_back({speed.shape, 1 / speed.iteration_s});
  return view;
}

void ArenaRounds::apply() {
  for (auto& [id, live] : live_) {
    const Placement placement = cluster_.placement_of(id);
    if (placement == live.placement) continue;
    if (live.speed != nullptr) stop(live);
    if (!placement.nodes.empty()) start(live, placement);
  }
}

void ArenaRounds::start(Live& live, const Placement& placement) {
  const auto is_it = [&](const ArenaSpeed& speed) {
    return speed.shape.pool == placement.pool && speed.shape.devices == placement.nodes.size();
  };
  const auto found = std::find_if(live.speeds.begin(), live.speeds.end(), is_it);
  TUTTI_CHECK(found != live.speeds.end());
  JobResult& result = result_of(live);
  live.speed = &*found;
  live.placement = placement;
  live.left_before = live.left;
  live.executed_s = 0;
  live.started = true;
  live.run_from_s = now_s_;
  const double price = cost(found->shape.devices);
  live.debt_s = price > kRoundS ? price : 0;
  if (result.first_start_s) ++result.restarts;
  if (!result.first_start_s) result.first_start_s = now_s_;
}

void ArenaRounds::stop(Live& live) {
  const Pool& pool = pools_[live.placement.pool];
  JobSpan span{live.run_from_s, now_s_, pool.type, {}};
  for (const std::uint32_t node : live.placement.nodes)
    span.nodes.push_back(pool_node_name(pool, node));
  result_of(live).spans.push_back(std::move(span));
  live.debt_s = 0;
  live.speed = nullptr;
  live.placement = Placement();
}

double ArenaRounds::reported(Live& live) {
  if (live.debt_s > kRoundS) {
    live.debt_s -= kRoundS;
    return 0;
  }
  // A start that costs less than a round only lowers what the round reports.
  const double lost = live.debt_s > 0 ? live.debt_s
                      : live.started  ? cost(live.speed->shape.devices)
                                      : 0;
  live.debt_s = 0;
  return live.speed->samples_per_s * (kRoundS - lost) / kRoundS;
}

void ArenaRounds::count_round() {
  ClusterSample sample;
  sample.at_s = now_s_;
  for (auto& [id, live] : live_) {
    if (live.speed != nullptr) sample.throughput += reported(live);
    if (live.speed == nullptr) result_of(live).queue_s += kRoundS;
    ++(live.speed != nullptr ? sample.running : sample.waiting);
  }
  sample.throughput = rounded_sum(sample.throughput);
  cluster_.count_use(sample);
  run_.samples.push_back(sample);
}

double ArenaRounds::cost(std::uint32_t devices) const {
  return options_.cost == ArenaRestartCost::kCrius ? std::min(10.0 * devices, 40.0)
                                                   : std::min(150.0 * devices, 600.0);
}

}  // namespace tutti
