#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/store.h"

namespace tutti {

// A Store that keeps the specs of jobs that have not ended and nothing else, so that a simulation
// of millions of jobs takes memory for those that are alive. Nothing but the speeds can
// be recovered from it.
// Owned by the simulation; one thread.
class LeanStore : public Store {
 public:
  explicit LeanStore(SpeedTable speeds) : speeds_(std::move(speeds)) {}

  Result<void> commit(const Round& round) override;
  Result<Recovered> recover() override {
    Recovered recovered;
    recovered.speeds = speeds_;
    return recovered;
  }
  Result<JobSpec> load_spec(JobId job) override;
  // Simulated jobs are no batches.
  Result<std::vector<std::string>> load_lines(JobId /*job*/, std::uint32_t /*first*/,
                                              std::uint32_t /*count*/) override {
    return std::vector<std::string>();
  }
  Result<JobRow> load_job(JobId job) override;
  Result<std::vector<TaskRow>> load_tasks(JobId /*job*/) override { return std::vector<TaskRow>(); }

  std::size_t size() const { return specs_.size(); }
  std::uint64_t rounds() const { return rounds_; }

 private:
  SpeedTable speeds_;
  std::unordered_map<JobId, JobSpec> specs_;
  std::uint64_t rounds_ = 0;
};

}  // namespace tutti
