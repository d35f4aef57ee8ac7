#include "cli/output/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/block.h"
#include "cli/output/gpus.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

// Of a command in a line about a failure: `tutti show` has all of it.
constexpr std::size_t kMostOfCommand = 200;

// How long something ran or has been running; "-" if it has not started.
std::string elapsed(TimePoint started, TimePoint finished, TimePoint now) {
  if (!started) return "-";
  const TimePoint end = finished ? finished : now;
  if (end - started < Duration(0)) return "0s";
  return format_duration(finished ? end - started : seconds((end - started).value / 1'000'000));
}

std::string progress_cell(const JobView& job) {
  if (job.tasks <= 1) return "1";
  return fmt::format("{}/{}", job.counts.finished(), job.tasks);
}

std::string state_cell(const JobView& job) {
  if (job.state != "failed" || job.tasks > 1 || !job.exit_code) return job.state;
  return fmt::format("failed ({})", *job.exit_code);
}

std::string counts_text(const CountsView& counts) {
  std::string text;
  const auto add = [&text](std::uint64_t number, std::string_view what) {
    if (number == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(number), what);
  };
  add(counts.failed, "failed");
  add(counts.succeeded, "succeeded");
  add(counts.cancelled, "cancelled");
  add(counts.skipped, "skipped");
  add(counts.running, "running");
  add(counts.starting, "starting");
  add(counts.queued, "queued");
  return text;
}

std::string request_text(const JobView& job) {
  std::string text = job.cpus == 1 ? "1 core" : cpus_text(job.cpus) + " cores";
  if (job.memory_mib > 0) text += ", " + format_memory(MiB(job.memory_mib)) + " memory";
  if (!job.configurations.empty()) {
    text += ", GPUs one of " + printable(job.configurations);
  } else if (job.gpus > 0) {
    text += fmt::format(", {} GPU{}{}", job.gpus, job.gpus == 1 ? "" : "s",
                        job.gpu_type.empty() ? "" : " " + printable(job.gpu_type));
  }
  if (job.time_limit_s > 0) {
    text +=
        ", at most " + format_duration(Duration(static_cast<std::int64_t>(job.time_limit_s * 1e6)));
  }
  if (job.tasks > 1) text += " for each task";
  return text;
}

std::string folder_text(const JobView& job) {
  if (!job.snapshot) return printable(job.workdir);
  const std::string what = "a copy of " + printable(job.workdir);
  return job.copy.empty() ? what : printable(job.copy) + ", " + what;
}

std::string result_of(std::string_view ending, std::optional<int> exit_code, std::int64_t signal) {
  if (ending == "exited" && exit_code) return fmt::format("exit {}", *exit_code);
  if (ending == "signalled") return fmt::format("signal {}", signal);
  if (ending == "timeout") return "time limit";
  if (ending == "out_of_memory") return "out of memory";
  if (ending == "gpu_out_of_memory") return "ran out of GPU memory";
  if (ending == "not_started") return "not started";
  return std::string(ending);
}

}  // namespace

std::string render_jobs(const std::vector<JobView>& jobs, const Screen& screen, TimePoint now) {
  using Align = Table::Align;
  Table table({{"ID", Align::kRight},
               {"NAME", Align::kLeft, 20},
               {"STATE"},
               {"TASKS", Align::kRight},
               {"USER", Align::kLeft, 12, 1},
               {"AGE", Align::kRight, 0, 2},
               {"TIME", Align::kRight, 0, 3},
               {"COMMAND"}});
  for (const JobView& job : jobs) {
    table.add({std::to_string(job.id),
               job.name.empty() ? "-" : job.name,
               {state_cell(job), style_of_state(job.state)},
               progress_cell(job),
               job.user,
               job.submitted_at ? short_duration(now - job.submitted_at) : "-",
               elapsed(job.started_at, job.finished_at, now),
               job.command});
  }
  return table.render(screen);
}

std::string render_job(const JobView& job, const Screen& screen, TimePoint now) {
  std::string head = screen.styled(Style::kBold, fmt::format("Job {}", job.id));
  if (!job.name.empty()) head += " " + printable(job.name);
  head += "  " + screen.styled(style_of_state(job.state), job.state);
  Block block;
  block.add("command", printable(job.command));
  block.add("folder", folder_text(job));
  block.add("user", printable(job.user) + (job.project.empty() || job.project == "default"
                                               ? ""
                                               : " in project " + printable(job.project)));
  // Groups of workers have one each.
  if (job.shape != "gang") block.add("request", request_text(job));
  if (job.priority != 0) block.add("priority", std::to_string(job.priority));
  if (job.tasks > 1) {
    const std::string most =
        job.max_parallel > 0 ? fmt::format("; at most {} at once", grouped(job.max_parallel)) : "";
    block.add("tasks", fmt::format("{} of {} done: {}{}", grouped(job.counts.finished()),
                                   grouped(job.tasks), counts_text(job.counts), most));
  }
  block.add("submitted", ago(job.submitted_at, now));
  if (job.started_at) block.add("started", ago(job.started_at, now));
  if (job.finished_at) block.add("finished", ago(job.finished_at, now));
  if (job.started_at) block.add("ran", elapsed(job.started_at, job.finished_at, now));
  block.add("node", printable(job.node));
  if (job.attempt > 1) block.add("attempt", std::to_string(job.attempt));
  if (job.finished()) block.add("result", result_of(job.ending, job.exit_code, job.signal));
  block.add("message", printable(job.message));
  return head + "\n" + block.text();
}

std::string render_tasks(const std::vector<TaskView>& tasks, const Screen& screen, TimePoint now) {
  using Align = Table::Align;
  const bool lines = std::any_of(tasks.begin(), tasks.end(), [](const TaskView& task) {
    return task.line && *task.line != task.label;
  });
  std::vector<Table::Column> columns{{"TASK", Align::kRight},
                                     {"STATE"},
                                     {"RESULT"},
                                     {"TRIES", Align::kRight},
                                     {"TIME", Align::kRight},
                                     {"CPU", Align::kRight},
                                     {"MEM", Align::kRight},
                                     {"COMMAND"}};
  if (lines) columns.insert(columns.begin() + 1, {"LINE", Align::kRight});
  Table table(std::move(columns));
  for (const TaskView& task : tasks) {
    const auto cpu = Duration(static_cast<std::int64_t>(task.cpu_seconds * 1e6));
    const std::string result = result_text(task);
    std::vector<Table::Cell> row{
        std::to_string(task.label),
        {task.state, style_of_state(task.state)},
        result.empty() ? "-" : result,
        std::to_string(task.attempt),
        elapsed(task.started_at, task.finished_at, now),
        task.finished_at ? format_duration(cpu) : "-",
        task.peak_memory_mib > 0 ? format_memory(MiB(task.peak_memory_mib)) : "-",
        task.command};
    if (lines) row.insert(row.begin() + 1, task.line ? std::to_string(*task.line) : "-");
    table.add(std::move(row));
  }
  return table.render(screen);
}

std::string render_rank_states(const std::vector<TaskView>& ranks, const Screen& screen,
                               TimePoint now) {
  using Align = Table::Align;
  Table table({{"RANK", Align::kRight},
               {"GROUP"},
               {"STATE"},
               {"RESULT"},
               {"TRIES", Align::kRight},
               {"NODE"},
               {"GPUS"},
               {"PORTS"},
               {"TIME", Align::kRight},
               {"NOTE"}});
  for (const TaskView& rank : ranks) {
    std::string gpus;
    for (const std::string& device : rank.devices) gpus += (gpus.empty() ? "" : ",") + device;
    std::string ports;
    for (const std::int64_t port : rank.ports)
      ports += (ports.empty() ? "" : ",") + std::to_string(port);
    const std::string result = result_text(rank);
    table.add({std::to_string(rank.label),
               printable(rank.group),
               {rank.state, style_of_state(rank.state)},
               result.empty() ? "-" : result,
               std::to_string(rank.attempt),
               rank.node.empty() ? "-" : printable(rank.node),
               gpus.empty() ? "-" : gpus,
               ports.empty() ? "-" : ports,
               elapsed(rank.started_at, rank.finished_at, now),
               printable(rank.message)});
  }
  return table.render(screen);
}

std::string render_retry(const TaskView& task, TimePoint now) {
  if (task.state != "queued" || task.ending.empty()) return {};
  Block block;
  block.add("last try", fmt::format("attempt {}: {}", task.attempt, result_text(task)));
  if (task.not_before) block.add("runs again", from_now(task.not_before, now));
  return block.text();
}

std::string render_task(std::uint64_t job, const TaskView& task, const Screen& screen,
                        TimePoint now) {
  const std::string head = screen.styled(Style::kBold, fmt::format("Task {}.{}", job, task.label)) +
                           "  " + screen.styled(style_of_state(task.state), task.state) + "\n";
  Block block;
  block.add("command", printable(task.command));
  if (task.line) block.add("line", std::to_string(*task.line));
  block.add("attempt", std::to_string(task.attempt));
  block.add("node", printable(task.node));
  std::string devices;
  for (const std::string& device : task.devices) devices += (devices.empty() ? "" : ", ") + device;
  if (task.gpus.empty()) block.add("devices", printable(devices));
  if (task.pid > 0) block.add("pid", std::to_string(task.pid));
  if (task.started_at) {
    block.add("started", ago(task.started_at, now));
    block.add("ran", elapsed(task.started_at, task.finished_at, now));
  }
  if (task.finished_at) {
    block.add("CPU time",
              format_duration(Duration(static_cast<std::int64_t>(task.cpu_seconds * 1e6))));
  }
  if (task.peak_memory_mib > 0) block.add("memory", format_memory(MiB(task.peak_memory_mib)));
  block.add_lines(render_task_gpus(task));
  const std::string retry = render_retry(task, now);
  block.add_lines(retry);
  if (retry.empty()) block.add("result", result_text(task));
  block.add("message", printable(task.message));
  block.add("stdout", printable(task.stdout_path));
  block.add("stderr", printable(task.stderr_path));
  return head + block.text();
}

std::string render_configurations(const ExplanationView& explanation, const Screen& screen) {
  if (explanation.configurations.empty()) return {};
  const bool runs = explanation.reasons.empty() && explanation.state != "queued";
  std::string text = screen.styled(Style::kBold, "Configurations, the best first:") + "\n";
  for (const ExplanationView::Configuration& one : explanation.configurations) {
    const char* taken = !one.taken ? "" : runs ? ", it runs there" : ", it would start there now";
    text += fmt::format("  {} {}: {}{}\n", one.taken ? "▶" : "-", printable(one.gpus),
                        printable(one.text), taken);
  }
  return text;
}

namespace {

std::string asked_about(const ExplanationView& explanation) {
  if (explanation.of_task) return fmt::format("Task {}.{}", explanation.job, explanation.task);
  return explanation.job == 0 ? "The job" : fmt::format("Job {}", explanation.job);
}

// A job that waits does not start now.
std::string start_text(TimePoint start, TimePoint now) {
  return start - now < seconds(1) ? "within a second" : from_now(start, now);
}

}  // namespace

std::string render_explanation(const ExplanationView& explanation, const Screen& screen,
                               TimePoint now) {
  const std::string who = asked_about(explanation);
  std::string text;
  if (explanation.reasons.empty()) {
    text = explanation.state.empty() || explanation.state == "queued"
               ? who + " would start at once.\n"
               : fmt::format("{} does not wait: its state is {}.\n", who, explanation.state);
  } else {
    text = screen.styled(Style::kBold, who + " waits:") + "\n";
    for (const std::string& reason : explanation.reasons) {
      text += "  - " + printable(reason) + "\n";
    }
  }
  text += render_configurations(explanation, screen);
  if (!explanation.remedies.empty()) {
    text += screen.styled(Style::kBold, "What would start it:") + "\n";
    for (const std::string& remedy : explanation.remedies)
      text += "  - " + printable(remedy) + "\n";
  }
  if (explanation.p50) {
    text += fmt::format("Expected start: {}", start_text(explanation.p50, now));
    const std::string latest = start_text(explanation.p90, now);
    if (explanation.p90 && latest != start_text(explanation.p50, now))
      text += fmt::format(", at the latest {} (9 times of 10)", latest);
    text += "\n";
  } else if (!explanation.reasons.empty()) {
    text += "Expected start: cannot be said\n";
  }
  if (!explanation.basis.empty()) {
    const std::string_view basis = explanation.basis;
    const char* lead = explanation.p50 ? "  from " : "  ";
    text += screen.styled(Style::kDim, lead + printable(basis)) + "\n";
  }
  return text;
}

std::string result_text(const TaskView& task) {
  return result_of(task.ending, task.exit_code, task.signal);
}

std::string first_failure(std::uint64_t job, const std::vector<TaskView>& ranks) {
  const TaskView* first = nullptr;
  for (const TaskView& rank : ranks) {
    if (rank.state != "failed") continue;
    if (first == nullptr || rank.finished_at < first->finished_at) first = &rank;
  }
  if (first == nullptr) return {};
  const std::string result = result_text(*first);
  return fmt::format("rank {1} failed first{2}{3}; see 'tutti logs {0}.{1}'{4}", job, first->label,
                     result.empty() ? "" : " (" + result + ")",
                     first->message.empty() ? "" : ": " + printable(first->message),
                     first->stderr_path.empty() ? "" : " (" + printable(first->stderr_path) + ")");
}

std::string failure_line(std::uint64_t job, const TaskView& task) {
  // Verbs take the number of the task, editors that of the line.
  const std::string number = fmt::format("task {}.{}", job, task.label);
  const std::string who = task.line ? fmt::format("line {} ({})", *task.line, number) : number;
  const std::string result = result_text(task);
  std::string text = fmt::format("{} {}", who, task.state);
  if (!result.empty()) text += fmt::format(" ({})", result);
  if (!task.command.empty()) text += ": " + cut_to(printable(task.command), kMostOfCommand);
  if (!task.message.empty()) text += (task.command.empty() ? ": " : "; ") + printable(task.message);
  return text;
}

}  // namespace tutti
