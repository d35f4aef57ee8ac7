#include "sim/elastic_cluster.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/elastic/node_pools.h"
#include "sim/settle.h"

namespace tutti {
namespace {

// Nothing but devices is scarce.
constexpr MilliCpu kCpus{1'000'000};
constexpr MiB kMemory{1 << 20};
constexpr MiB kDeviceMemory{16 << 10};
constexpr Duration kUntilFinished = seconds(1'000'000'000'000);

// Another policy that is timed.
class TimedPolicy : public ElasticPolicy {
 public:
  TimedPolicy(ElasticPolicy& timed, std::vector<double>& decision_ms)
      : timed_(timed), decision_ms_(decision_ms) {}

  Choices decide(const ElasticSnapshot& snapshot) override {
    const auto began = std::chrono::steady_clock::now();
    Choices choices = timed_.decide(snapshot);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    decision_ms_.push_back(took.count());
    return choices;
  }
  std::vector<std::size_t> order() const override { return timed_.order(); }

 private:
  ElasticPolicy& timed_;
  std::vector<double>& decision_ms_;
};

Node node_of(const Pool& pool, std::uint32_t number) {
  Node node;
  node.name = pool_node_name(pool, number);
  node.cpus = kCpus;
  node.memory = kMemory;
  for (std::uint32_t i = 0; i < pool.per_node; ++i)
    node.devices.push_back(
        {.type = pool.type, .uuid = node.name + "-" + std::to_string(i), .memory = kDeviceMemory});
  return node;
}

}  // namespace

ElasticCluster::ElasticCluster(const std::vector<Pool>& pools, ElasticPolicy& policy,
                               TrainingMonitor& monitor, const Options& options)
    : executor_(clock_,
                [](const StartAttempt&) {
                  return SimRun{kUntilFinished, {}, false};
                }),
      controller_(store_, executor_, clock_, publisher_) {
  executor_.keep_little();
  for (std::uint32_t p = 0; p < pools.size(); ++p) {
    for (std::uint32_t n = 0; n < pools[p].nodes; ++n) {
      executor_.set_node(node_of(pools[p], n));
      places_.emplace_back(p, n);
    }
  }
  controller_.set_elastic({.policy = std::make_unique<TimedPolicy>(policy, decision_ms_),
                           .monitor = &monitor,
                           .placing = options.placing,
                           .round = at(options.round_s) - VirtualClock::kStart});
  TUTTI_CHECK(controller_.start().has_value());
  settle();
}

TimePoint ElasticCluster::at(double seconds) {
  return VirtualClock::kStart + Duration(std::llround(seconds * 1e6));
}

void ElasticCluster::settle() {
  tutti::settle(controller_, executor_, store_, clock_);
}

void ElasticCluster::move_to(double now_s) {
  if (at(now_s) > clock_.now()) settle();
  clock_.move_to(at(now_s));
  for (const auto& [job, at_s] : std::exchange(finished_, {})) end_attempts(job, at(at_s));
  settle();
}

JobId ElasticCluster::submit(double at_s, std::uint32_t most_nodes) {
  if (at(at_s) > clock_.now()) settle();
  clock_.move_to(at(at_s));
  JobSpec spec;
  // Names in traces may be anything; theirs are told by whoever owns this.
  spec.name = spec.kind = "training";
  spec.user = "somebody";
  spec.command.argv = {"sim"};
  spec.workdir = "/";
  WorkerGroup workers;
  workers.ranks.count = most_nodes;
  workers.ranks.elastic = true;
  workers.ranks.request.devices = {.count = 1, .sharing = Sharing::kNever};
  spec.gang.workers = {std::move(workers)};
  const JobId job(++submitted_);
  controller_.submit({std::move(spec)}, false, [job](const Result<Submitted>& reply) {
    TUTTI_CHECK(reply.has_value() && reply->jobs.front() == job);
  });
  return job;
}

void ElasticCluster::end_attempts(JobId id, TimePoint at) {
  const Job* job = controller_.ledger().find_job(id);
  TUTTI_CHECK(job != nullptr);
  for (std::uint32_t rank = 0; rank < job->slots.size(); ++rank) {
    const ActiveAttempt* attempt = controller_.ledger().find_active({id, rank});
    if (attempt != nullptr) executor_.finish(attempt->id, at);
  }
}

void ElasticCluster::count_use(ClusterSample& sample) const {
  for (const Node& node : controller_.ledger().nodes()) {
    const auto used = std::count_if(node.devices.begin(), node.devices.end(),
                                    [](const Device& one) { return one.holders > 0; });
    sample.devices_used += static_cast<double>(used);
    if (used > 0)
      sample.devices_stranded +=
          static_cast<double>(node.devices.size()) - static_cast<double>(used);
  }
}

Placement ElasticCluster::placement_of(JobId id) const {
  Placement placement;
  const Job* job = controller_.ledger().find_job(id);
  if (job == nullptr) return placement;
  for (const NodeShare& share : shares_of(controller_.ledger(), *job)) {
    const auto& [pool, number] = places_.at(share.node.value - 1);
    placement.pool = pool;
    placement.nodes.insert(placement.nodes.end(), share.devices, number);
  }
  return placement;
}

}  // namespace tutti
