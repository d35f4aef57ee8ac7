#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/store.h"

namespace tutti {

// A Store that keeps everything in memory: the rows, from which it recovers as a database would,
// and the journal, against which tests check them. Can be told to refuse. Owned by the simulation;
// one thread.
class MemoryStore : public Store {
 public:
  Result<void> commit(const Round& round) override;
  Result<Recovered> recover() override;
  Result<JobSpec> load_spec(JobId job) override;
  Result<std::vector<std::string>> load_lines(JobId job, std::uint32_t first,
                                              std::uint32_t count) override;
  Result<JobRow> load_job(JobId job) override;
  Result<std::vector<TaskRow>> load_tasks(JobId job) override;

  // Refuses the next `commits` commits as a full disk does.
  void fail_next(std::uint32_t commits) { failing_ = commits; }
  // Refuses every commit from now on, or none.
  void set_full(bool full) { full_ = full; }
  // Refuses to read specs and lines back, as a damaged database does.
  void set_unreadable(bool unreadable) { unreadable_ = unreadable; }

  const std::vector<Event>& journal() const { return journal_; }
  std::uint64_t rounds() const { return rounds_; }
  const std::map<JobId, JobRow>& jobs() const { return jobs_; }
  const std::map<TaskId, TaskRow>& tasks() const { return tasks_; }

 private:
  void keep(const Event& event);

  std::vector<Event> journal_;
  std::uint64_t rounds_ = 0;
  std::map<JobId, JobSpec> specs_;
  std::map<JobId, JobFacts> facts_;
  std::map<JobId, JobRow> jobs_;
  std::map<TaskId, TaskRow> tasks_;
  std::map<NodeId, Node> nodes_;
  std::map<std::string, Profile> profiles_;
  SpeedTable speeds_;
  std::map<Account, UsageRecord> usage_;
  std::uint64_t next_job_ = 1;
  std::uint64_t next_lane_ = 1;
  std::uint32_t failing_ = 0;
  bool full_ = false;
  bool unreadable_ = false;
};

}  // namespace tutti
