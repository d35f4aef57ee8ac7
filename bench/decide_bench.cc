// How long one scheduling pass takes (snapshot_of + decide), and what a queued job costs in memory.
// Prints medians of CPU time; the targets are in the last column.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "core/lifecycle/ledger.h"
#include "core/plan/snapshot.h"
#include "core/policy/decide.h"

namespace {

using namespace tutti;

constexpr TimePoint kNow{1'000'000'000'000};
constexpr int kRuns = 25;

// Builds ledgers from a fixed seed.
class Cluster {
 public:
  void add_nodes(std::uint32_t count, std::int64_t cpus, std::uint32_t devices) {
    for (std::uint32_t i = 1; i <= count; ++i) {
      Node node;
      node.id = NodeId(i);
      node.name = "node" + std::to_string(i);
      node.cpus = MilliCpu(cpus * 1000);
      node.memory = MiB(512 * 1024);
      for (std::uint32_t d = 0; d < devices; ++d)
        node.devices.push_back({.id = DeviceId(d), .type = "A100-80G", .memory = MiB(81920)});
      happen(NodeChanged{node});
    }
  }

  Request random_request() {
    Request request;
    request.cpus = MilliCpu(pick(1, 32) * 500);
    request.memory = MiB(pick(1, 64) * 512);
    if (pick(0, 2) == 0) request.devices.count = static_cast<std::uint32_t>(pick(1, 4));
    if (request.devices.count == 1 && pick(0, 1) == 0)
      request.devices.memory = MiB(pick(4, 40) * 1024);
    return request;
  }

  void submit(const Request& request, const std::string& kind, const std::string& user,
              std::uint32_t tasks) {
    JobFacts facts;
    facts.id = JobId(++jobs_);
    facts.user = user;
    facts.project = "project" + kind.substr(kind.size() - 1);
    facts.kind = kind;
    facts.request = request;
    facts.tasks.count = tasks;
    if (tasks > 1) facts.tasks.shape = TaskSet::Shape::kArray;
    facts.time_limit = seconds(3600);
    happen(JobSubmitted{facts});
  }

  // Places what a pass starts; at most `most` attempts, at most one pass if `most` is zero.
  std::size_t place(std::size_t most) {
    std::size_t placed = 0;
    while (true) {
      const Plan plan = decide(snapshot_of(ledger, kNow));
      for (const Start& start : plan.starts) {
        if (placed == most) return placed;
        const TaskId task = ledger.next_ready(start.group).value();
        const GroupKey& key = ledger.group(start.group).key;
        happen(AttemptPlaced{{task, 1},
                             ledger.lane_for(start.allocation.node, key),
                             start.staged,
                             start.allocation});
        ++placed;
      }
      if (!plan.more || plan.starts.empty()) return placed;
    }
  }

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  Ledger ledger;

 private:
  void happen(EventBody body) {
    Changes changes;
    ledger.apply({kNow, std::move(body)}, changes);
  }

  std::mt19937 random_{1};
  std::uint64_t jobs_ = 0;
};

// CPU time, so that a busy machine does not spoil the numbers.
double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double milliseconds_of_pass(const Ledger& ledger, std::size_t& starts) {
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const double began = cpu_milliseconds();
    const Plan plan = decide(snapshot_of(ledger, kNow + seconds(1)));
    times.push_back(cpu_milliseconds() - began);
    starts = plan.starts.size();
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

double row(const char* what, const Ledger& ledger, const char* target) {
  std::size_t starts = 0;
  const double took = milliseconds_of_pass(ledger, starts);
  std::printf("%-58s %9.3f ms %7zu starts   %s\n", what, took, starts, target);
  return took;
}

void queue_kinds(Cluster& cluster) {
  std::vector<Request> requests;
  for (int kind = 0; kind < 1000; ++kind) requests.push_back(cluster.random_request());
  for (int i = 0; i < 100'000; ++i) {
    const auto kind = static_cast<std::size_t>(i % 1000);
    cluster.submit(requests[kind], "kind" + std::to_string(kind),
                   "user" + std::to_string(kind % 50), 1);
  }
}

void large_clusters() {
  Cluster empty;
  empty.add_nodes(1000, 64, 8);
  queue_kinds(empty);
  row("1,000 nodes x 8 GPUs, 100,000 jobs of 1,000 kinds, empty", empty.ledger, "<= 10 ms");
  Cluster half;
  half.add_nodes(1000, 64, 8);
  queue_kinds(half);
  half.place(4000);
  row("the same, about half full", half.ledger, "<= 10 ms");
  half.place(1'000'000);
  row("the same, full", half.ledger, "<= 10 ms");
}

// One node that is full, and a queue of this many tasks, as one array or as jobs of their own.
double long_queue(const char* what, std::uint32_t tasks, bool separate) {
  Cluster cluster;
  cluster.add_nodes(1, 64, 0);
  Request request;
  for (std::uint32_t i = 0; i < (separate ? tasks : 1); ++i)
    cluster.submit(request, "kind", "ann", separate ? 1 : tasks);
  cluster.place(64);
  return row(what, cluster.ledger, "");
}

void long_queues() {
  const double short_batch = long_queue("1,000 queued, one batch", 1000, false);
  const double long_batch = long_queue("1,000,000 queued, one batch", 1'000'000, false);
  const double short_jobs = long_queue("1,000 queued, jobs of their own", 1000, true);
  const double long_jobs = long_queue("1,000,000 queued, jobs of their own", 1'000'000, true);
  std::printf("%-58s %9.2f                        <= 2\n", "ratio, one batch",
              long_batch / short_batch);
  std::printf("%-58s %9.2f                        <= 2\n", "ratio, jobs of their own",
              long_jobs / short_jobs);
}

void memory() {
  constexpr std::uint32_t kJobs = 200'000;
  Cluster cluster;
  cluster.add_nodes(1, 64, 0);
  const std::size_t before = mallinfo2().uordblks;
  for (std::uint32_t i = 0; i < kJobs; ++i) cluster.submit({}, "kind", "ann", 1);
  const std::size_t bytes = (mallinfo2().uordblks - before) / kJobs;
  std::printf("%-58s %9zu bytes                  <= 300\n", "memory of a queued job of one task",
              bytes);
}

}  // namespace

// With an argument: the large clusters only, for a profiler.
int main(int argc, char**) {
  large_clusters();
  if (argc > 1) return 0;
  long_queues();
  memory();
}
