#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/output/screen.h"
#include "client/views.h"

namespace tutti {

// What users see of jobs, tasks and explanations. All text from outside is made printable;
// widths and colours are the screen's.

// The table of `ls`. `empty` is said instead when there is no job.
std::string render_jobs(const std::vector<JobView>& jobs, const Screen& screen, TimePoint now);

// The block of `show`: what the job is and how it stands.
std::string render_job(const JobView& job, const Screen& screen, TimePoint now);

// The ranks of a gang.
std::string render_rank_states(const std::vector<TaskView>& ranks, const Screen& screen,
                               TimePoint now);
// The table of a job's tasks; with their lines in the batch's file where these are not the labels.
std::string render_tasks(const std::vector<TaskView>& tasks, const Screen& screen, TimePoint now);

// Of a task that failed and is queued again: how its last attempt ended, and when it runs again.
// Otherwise empty.
std::string render_retry(const TaskView& task, TimePoint now);

// The block for one task.
std::string render_task(std::uint64_t job, const TaskView& task, const Screen& screen,
                        TimePoint now);

// The configurations of a job that has several; otherwise empty.
std::string render_configurations(const ExplanationView& explanation, const Screen& screen);

// Causes, remedies and the expected start.
std::string render_explanation(const ExplanationView& explanation, const Screen& screen,
                               TimePoint now);

// "exit 3", "signal 9", "time limit", "out of memory", ...: how a task ended, in two words.
std::string result_text(const TaskView& task);

// "rank 2 failed first (exit 3): why; see 'tutti logs 12.2' (its stderr's path)", for the rank of a
// gang that failed before the others; empty: none did.
std::string first_failure(std::uint64_t job, const std::vector<TaskView>& ranks);

// "line 7 (task 12.5) failed (exit 3): command", for a task of a batch; "task 12.5 ..." for one of
// an array. A long command is cut.
std::string failure_line(std::uint64_t job, const TaskView& task);

}  // namespace tutti
