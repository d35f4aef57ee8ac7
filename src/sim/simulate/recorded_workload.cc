#include "sim/simulate/recorded_workload.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/model/node.h"

namespace tutti {
namespace {

// What of a spec matters where nothing is executed.
JobSpec outline_of(const JobSpec& spec) {
  JobSpec copy;
  copy.name = spec.name;
  copy.user = spec.user;
  copy.project = spec.project;
  copy.kind = spec.kind;
  copy.tasks = spec.tasks;
  if (copy.tasks.shape == TaskSet::Shape::kBatch) copy.tasks.shape = TaskSet::Shape::kArray;
  copy.request = spec.request;
  copy.model = spec.model;
  copy.gang = spec.gang;
  for (WorkerGroup& group : copy.gang.workers) {
    group.command = {};
    group.env.clear();
  }
  // It ran: what it waited for had ended as it should.
  for (const Dependency& one : spec.after) copy.after.push_back({one.job, Dependency::When::kAny});
  copy.node_limits = spec.node_limits;
  copy.priority = spec.priority;
  copy.time_limit = spec.time_limit;
  if (copy.request.devices.unknown()) copy.request.devices.sharing = Sharing::kNever;
  return copy;
}

// The first that is meant by what it had.
std::size_t position_of(const std::optional<Configuration>& had,
                        const std::vector<Configuration>& listed) {
  const auto is_that = [&](const Configuration& one) {
    return had && one.count == had->count && is_of_type(had->type, one.type);
  };
  const auto found = std::find_if(listed.begin(), listed.end(), is_that);
  return found == listed.end() ? 0 : static_cast<std::size_t>(found - listed.begin());
}

// What nobody had said of its devices was known once a run of its kind had been measured. If that
// was an array, its first task alone was; the others say nothing of when.
void wait_for_profile(const RecordedJob& job, std::map<std::string, JobId>& measured,
                      JobSpec& spec) {
  const auto before = measured.find(spec.kind);
  if (before != measured.end()) spec.after.push_back({before->second, Dependency::When::kAny});
  if (job.measured && spec.tasks.count == 1) measured[spec.kind] = job.id;
}

}  // namespace

Result<std::unique_ptr<Workload>> recorded_workload(Recording recording) {
  if (recording.jobs.empty())
    return not_found("this home has run nothing in that time; try a longer --since");
  const TimePoint first = recording.jobs.front().submitted_at;
  std::vector<WorkloadJob> jobs;
  std::map<std::string, JobId> measured;  // by kind, the run that was measured last
  for (RecordedJob& job : recording.jobs) {
    WorkloadJob one{.submit = job.submitted_at - first,
                    .spec = outline_of(job.spec),
                    .runs = std::move(job.runs),
                    .deadline = {},
                    .timed_as = position_of(job.had, job.spec.request.configurations),
                    .timed_out = job.timed_out,
                    .id = job.id};
    // What its limit ended takes as long again; one that it was granted more than, does not.
    for (const Duration& runs : one.runs) {
      if (one.spec.time_limit.value > 0) one.spec.time_limit = std::max(one.spec.time_limit, runs);
    }
    if (job.unknown) wait_for_profile(job, measured, one.spec);
    jobs.push_back(std::move(one));
  }
  std::unique_ptr<Workload> workload = workload_of(std::move(jobs));
  workload->name = "history";
  if (recording.left_out > 0)
    workload->left_out.push_back(
        left_out_note(recording.left_out, "of which no task has run and ended"));
  return workload;
}

}  // namespace tutti
