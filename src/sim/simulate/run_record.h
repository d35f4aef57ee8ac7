#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/front.h"
#include "sim/results.h"
#include "sim/workload/workload.h"

namespace tutti {

// What is kept of jobs that have ended.
enum class Detail : std::uint8_t {
  kNone,   // nothing but what the summary needs
  kJobs,   // what became of each
  kSpans,  // and who had which devices when
};

// Watches a controller and writes down what becomes of each job and of the cluster. What has ended
// is added to the summary at once; it is kept in detail only if that is wanted. Owned by the
// simulation; one thread.
class RunRecord final : public Publisher {
 public:
  RunRecord(const std::vector<Node>& nodes, TimePoint start, Detail detail);

  // A job will be submitted under this number; its spec says the number as the command's second
  // word. Copies of it, counted from 1, have names of their own.
  void expect(std::uint64_t number, const WorkloadJob& job, std::uint32_t copy);
  // It was not taken.
  void refused(std::uint64_t number) { expected_.erase(number); }
  void published(const Round& round) override;

  // How long a task runs, and in which of its configurations.
  Duration run_of(TaskId task) const;
  std::size_t timed_as(JobId job) const { return live_.at(job).timed_as; }
  bool is_live(JobId job) const { return live_.contains(job); }
  std::size_t live() const { return live_.size(); }
  std::uint64_t ended() const { return ended_; }
  // Of those that have ended: by their time limit.
  std::uint64_t timed_out() const { return timed_out_; }
  double now_s() const { return now_s_; }

  // At the end: what is unfinished counts as it is. The result has jobs if they were kept.
  RunResult finish(double horizon_s);
  Summary summary() const { return summary_; }

 private:
  struct Live {
    std::uint64_t number = 0;
    JobResult result;
    std::vector<Duration> runs;
    std::size_t timed_as = 0;
    bool chooses = false;    // it has several configurations
    double work = 0;         // devices × seconds that it will need
    double core_work = 0;    // cores × seconds, likewise
    double longest_s = 0;    // of its tasks
    double idle_since = 0;   // while it has no devices
    double load_before = 0;  // load_ when it was submitted
    std::uint32_t active = 0;
  };
  // What an attempt has.
  struct Held {
    double from_s = 0;
    NodeId node;
    double size = 0;         // of shared devices the part that was granted
    std::int64_t cores = 0;  // in thousandths
    std::vector<std::uint32_t> devices;
  };
  // What of a node somebody has, and whether it has any: devices, or thousandths of cores.
  struct Use {
    std::vector<std::uint32_t> holders;  // of each device
    std::int64_t cores = 0;
  };

  double seconds_at(TimePoint time) const;
  void move_to(double at_s);
  void on(const AttemptPlaced& placed, double at_s);
  void on(const AttemptEnded& ended, double at_s);
  void take(const Held& held, std::int64_t sign);
  Held held_of(const Allocation& allocation, double from_s) const;
  double used_on(const Use& use) const;
  double devices_of(const Request& request, std::uint32_t count) const;
  void add_span(Live& job, const Held& held, double to_s);
  void finish_job(Live& job, double at_s, bool ended);
  void sample();

  TimePoint start_;
  Detail detail_;
  RunResult run_;
  double cores_ = 0;  // of all nodes
  SummaryBuilder builder_;
  Summary summary_;
  std::unordered_map<std::uint64_t, Live> expected_;
  std::unordered_map<JobId, Live> live_;
  std::map<AttemptId, Held> held_;
  std::vector<Node> nodes_;
  Device smallest_;                             // of all devices, by memory
  std::vector<Use> use_;                        // of each node
  std::map<std::uint64_t, JobResult> results_;  // by number, if they are kept
  std::uint64_t ended_ = 0;
  std::uint64_t timed_out_ = 0;
  std::uint32_t running_ = 0;
  double now_s_ = 0;
  double load_ = 0;  // the integral of live jobs over time
  ClusterSample sample_;
  double sample_every_s_ = 0;
};

}  // namespace tutti
