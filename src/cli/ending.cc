#include "cli/ending.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/output/render.h"
#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kMostFailures = 20;       // all of them are in `tutti show`
constexpr int kMostFailedRanks = 1000;  // among which the first is looked for

// How a job or a task ended.
struct Ending {
  std::string who;
  const std::string& state;
  const std::string& ending;
  const std::string& message;
  std::int64_t signal;
  double time_limit_s;
};

std::string ending_text(const Ending& end) {
  const std::string& who = end.who;
  const std::string more = end.message.empty() ? "" : ": " + printable(end.message);
  if (end.state == "skipped") {
    return who + " was skipped" +
           (more.empty() ? ": a job that it waited for ended otherwise" : more);
  }
  if (end.ending == "timeout") {
    const auto limit = Duration(static_cast<std::int64_t>(end.time_limit_s * 1e6));
    return who + " was ended: its time limit of " + format_duration(limit) + " was over";
  }
  if (end.ending == "out_of_memory") return who + " was ended: it used too much memory" + more;
  if (end.ending == "gpu_out_of_memory") return who + " ran out of GPU memory" + more;
  if (end.ending == "lost") return who + " was lost" + more;
  if (end.ending == "not_started") return who + " could not be started" + more;
  if (end.ending == "signalled")
    return fmt::format("{} was ended by signal {}{}", who, end.signal, more);
  if (end.ending == "cancelled" || end.state == "cancelled") return who + " was cancelled" + more;
  if (end.message.empty()) return {};
  // The command ended by itself. Of a failure the message tells what did not work, such as its
  // results; of a success, what the user should know, such as memory that it took in advance.
  return who + (end.state == "failed" ? " failed" : "") + more;
}

int exit_status_of(const std::optional<int>& code, std::string_view state) {
  if (code) return *code;
  if (state == "succeeded") return 0;
  if (state == "cancelled") return 130;
  if (state == "skipped") return 125;
  return 1;
}

// Which tasks failed, and how: some of them, or of a gang the first, because of which others
// mostly do.
void say_failures(Session& session, const JobView& job) {
  const bool gang = job.shape == "gang";
  auto answer =
      session.client().request("GET",
                               fmt::format("/v1/jobs/{}/tasks?state=failed&limit={}", job.id,
                                           gang ? kMostFailedRanks : kMostFailures),
                               {});
  if (!answer) return;
  const auto tasks = task_views(*answer);
  std::size_t told = tasks.size();
  if (gang && told > 0) {
    session.screen().err(fmt::format("tutti: job {}: {}\n", job.id, first_failure(job.id, tasks)));
    told = 1;
  }
  for (std::size_t i = 0; i < tasks.size() && !gang; ++i) {
    const TaskView& task = tasks[i];
    const std::string result = result_text(task);
    session.screen().err(fmt::format("tutti: job {}.{} failed{}{}\n", job.id, task.label,
                                     result.empty() ? "" : " (" + result + ")",
                                     task.message.empty() ? "" : ": " + printable(task.message)));
  }
  if (job.counts.failed > told) {
    session.screen().err(fmt::format("tutti: {} more failed: see 'tutti show {}'\n",
                                     grouped(job.counts.failed - told), job.id));
  }
}

}  // namespace

int exit_status_of(const JobView& job) {
  return exit_status_of(job.exit_code, job.state);
}

int exit_status_of(const Followed& followed) {
  if (!followed.task) return exit_status_of(followed.job);
  return exit_status_of(followed.task->exit_code, followed.task->state);
}

std::string ending_text(const JobView& job) {
  return ending_text({fmt::format("job {}", job.id), job.state, job.ending, job.message, job.signal,
                      job.time_limit_s});
}

std::string ending_text(const Followed& followed) {
  if (!followed.task) return ending_text(followed.job);
  const TaskView& task = *followed.task;
  const JobView& job = followed.job;
  return ending_text({fmt::format("job {}.{}", job.id, task.label), task.state, task.ending,
                      task.state == "skipped" ? job.message : task.message, task.signal,
                      job.time_limit_s});
}

json::object ended_json(const Followed& followed) {
  json::object out{{"id", followed.job.id}};
  if (followed.task) out["task"] = followed.task->label;
  out["state"] = followed.task ? followed.task->state : followed.job.state;
  out["exit_code"] = exit_status_of(followed);
  return out;
}

void say_ending(Session& session, const JobView& job) {
  if (const std::string why = ending_text(job); !why.empty()) {
    session.screen().err("tutti: " + why + "\n");
    return;
  }
  // A job of several tasks has no message of its own.
  if (job.tasks > 1 && job.counts.failed > 0) say_failures(session, job);
}

void say_ending(Session& session, const Followed& followed) {
  if (!followed.task) return say_ending(session, followed.job);
  if (const std::string why = ending_text(followed); !why.empty())
    session.screen().err("tutti: " + why + "\n");
}

}  // namespace tutti
