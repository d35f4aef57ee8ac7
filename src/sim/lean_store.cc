#include "sim/lean_store.h"

namespace tutti {

Result<void> LeanStore::commit(const Round& round) {
  ++rounds_;
  for (const auto& [job, spec] : round.submitted) specs_[job] = *spec;
  for (const JobRow& row : round.jobs) {
    if (row.finished_at) specs_.erase(row.id);
  }
  return {};
}

Result<JobSpec> LeanStore::load_spec(JobId job) {
  const auto it = specs_.find(job);
  if (it == specs_.end()) return not_found("job " + std::to_string(job.value) + " has ended");
  return it->second;
}

Result<JobRow> LeanStore::load_job(JobId job) {
  return not_found("there is no job " + std::to_string(job.value));
}

}  // namespace tutti
