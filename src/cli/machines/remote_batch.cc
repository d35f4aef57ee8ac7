#include "cli/machines/remote_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <map>

#include "cli/environment.h"
#include "cli/follow.h"
#include "cli/job_request.h"
#include "cli/machines/batch_results.h"
#include "cli/machines/remote_pool.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "cli/submission.h"
#include "client/snapshot.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kPage = 1000;

// The lines of a batch that are to run, and whether some failed before and are not run again.
struct Todo {
  BatchFile lines;
  bool failed_before = false;
};

Todo lines_to_run(Session& session, const RemoteBatch& batch, const BatchResults& results) {
  Todo todo;
  for (std::size_t i = 0; i < batch.batch.lines.size(); ++i) {
    const std::uint32_t line = batch.batch.line_numbers[i];
    const auto past = batch.again ? BatchResults::Past::kNone : results.past(session, line);
    if (past == BatchResults::Past::kDone) {
      session.screen().out(
          fmt::format("WARNING: job results already exists for line {}, skipping evaluation: "
                      "delete if you wish to rerun\n",
                      line));
      continue;
    }
    if (past == BatchResults::Past::kUnderWay) {
      session.screen().out(
          fmt::format("WARNING: line {} is still under way from before, skipping it: see "
                      "'tutti ls'\n",
                      line));
      todo.failed_before = true;
      continue;
    }
    if (past == BatchResults::Past::kFailed && !batch.rerun_failed) {
      session.screen().out(
          fmt::format("WARNING: line {} failed before, skipping it: use --rerun-failed, or "
                      "delete its results, if you wish to rerun\n",
                      line));
      todo.failed_before = true;
      continue;
    }
    todo.lines.lines.push_back(batch.batch.lines[i]);
    todo.lines.line_numbers.push_back(line);
  }
  return todo;
}

// Tells of every task when it starts and when it ends, in the order of the lines.
class TaskWatch {
 public:
  TaskWatch(Session& session, const BatchResults& results, ProgressBar& bar)
      : session_(session), results_(results), bar_(bar) {}

  void look(std::uint64_t job) {
    std::int64_t from = from_;
    while (true) {
      auto answer = session_.client().request(
          "GET", fmt::format("/v1/jobs/{}/tasks?from={}&limit={}", job, from, kPage), {});
      if (!answer) return;
      for (const TaskView& task : task_views(*answer)) tell(task);
      const auto next = integer_at(*answer, "next_from");
      if (!next) break;
      from = *next;
    }
  }

 private:
  void tell(const TaskView& task) {
    if (task.label < from_) return;
    int& told = told_[task.label];
    const bool over = task.state == "succeeded" || task.state == "failed" ||
                      task.state == "cancelled" || task.state == "skipped";
    const bool began = task.state == "running" || (over && task.started_at);
    if (began && told == 0) {
      say(fmt::format("started: {};  {}{}", name_of(task), gpu_of(task), printable(task.command)));
      told = 1;
    }
    if (!over || told == 2) return;
    if (task.state == "succeeded") {
      say(fmt::format("finished: {}; {}", name_of(task), printable(task.command)));
    } else if (task.state == "failed" || task.started_at) {
      const std::string why = task.message.empty() ? "" : "  (" + printable(task.message) + ")";
      say(fmt::format("failed: {}; {}{}", name_of(task), printable(task.command), why));
    }
    told = 2;
    // What is over at the beginning need not be asked for again.
    while (told_.contains(from_) && told_[from_] == 2) told_.erase(from_++);
  }

  std::string name_of(const TaskView& task) const {
    return results_.name(static_cast<std::uint32_t>(task.line.value_or(task.label)));
  }
  static std::string gpu_of(const TaskView& task) {
    std::string list;
    for (const std::string& device : task.devices) list += (list.empty() ? "" : ",") + device;
    return list.empty() ? "" : "export CUDA_VISIBLE_DEVICES=" + list + " && ";
  }
  void say(const std::string& line) {
    bar_.clear();
    session_.screen().out(line + "\n");
  }

  Session& session_;
  const BatchResults& results_;
  ProgressBar& bar_;
  std::int64_t from_ = 1;
  std::map<std::int64_t, int> told_;  // 1: that it started; 2: that it ended
};

json::array texts(const std::vector<std::string>& words) {
  json::array array;
  for (const std::string& word : words) array.push_back(text_to_json(word));
  return array;
}

void put_need(const SlotNeed& need, json::object& job) {
  job["cpus"] = static_cast<double>(need.cpus.value) / 1000;
  if (need.memory.value > 0) job["mem"] = need.memory.value;
  if (!need.gpu) return;
  job["gpus"] = 1;
  if (need.gpu_memory.value > 0) job["gpu_mem"] = need.gpu_memory.value;
  if (need.reserve_gpu) {
    job["share"] = "never";
  } else if (need.gpu_share.value > 0) {
    job["gpu_util"] = static_cast<double>(need.gpu_share.value) / 1000;
  }
}

json::object job_of(const RemoteBatch& batch, const Todo& todo, const BatchResults& results,
                    const std::vector<PoolMachine>& machines, const std::string& folder) {
  std::string places;
  json::object limits;  // the job's own: it ends with the job, and other batches have theirs
  for (const PoolMachine& machine : machines) {
    if (machine.slots.gpus.empty()) continue;
    places += (places.empty() ? "" : "|") + machine.node;
    limits[machine.node] = machine.slots.gpus.size();
  }
  json::object job{{"name", text_to_json(std::filesystem::path(batch.file).filename().string())},
                   {"lines", texts(todo.lines.lines)},
                   {"labels", json::array{text_to_json(places)}},
                   {"workdir", text_to_json(folder)},
                   {"env", texts(Environment::of_process(true).variables())},
                   {"output", text_to_json(results.pattern(".out"))},
                   {"error", text_to_json(results.pattern(".err"))}};
  job["node_limits"] = std::move(limits);
  job["line_numbers"] = json::array(todo.lines.line_numbers.begin(), todo.lines.line_numbers.end());
  put_need(fitted(batch.need, machines), job);
  if (!batch.copy_backwards.empty()) {
    job["results"] = json::object{{"folder", text_to_json(results.pattern(""))},
                                  {"paths", texts(batch.copy_backwards)}};
  }
  return job;
}

Result<std::string> copy_of(Session& session, const RemoteBatch& batch, const std::string& folder) {
  ProgressBar bar(session.screen());
  const SnapshotChoice choice{batch.copy_forward, "/job_results/\n", digest_file()};
  return take_snapshot(
      session.client(), folder,
      [&bar](std::size_t done, std::size_t all) {
        bar.show(fmt::format("copying: {} of {} files", grouped(done), grouped(all)));
      },
      choice);
}

std::string why_nowhere(const std::vector<PoolMachine>& machines) {
  std::string text = "a job fits on none of the machines:";
  for (const PoolMachine& machine : machines) {
    text += "\n  " + printable(machine.given) + ": " + machine.slots.limited_by;
  }
  return text;
}

int watch(Session& session, std::uint64_t id, const Todo& todo, const BatchResults& results) {
  ProgressBar bar(session.screen());
  TaskWatch tasks(session, results, bar);
  FollowOptions options;
  options.job = id;
  options.copies = &bar;
  options.cancel_on_interrupt = true;
  options.leave_on_second_interrupt = true;
  options.on_job = [&](const JobView& job) {
    tasks.look(id);
    bar.show(job, session.now());
  };
  auto followed = follow(session, options);
  bar.clear();
  if (!followed) return session.fail(followed.error());
  if (followed->left) {
    session.screen().err(
        fmt::format("Job {0} goes on; its results come to {1}. See 'tutti show {0}'.\n", id,
                    printable(results.folder())));
    return kExitFailure;
  }
  tasks.look(id);
  return followed->job.state == "succeeded" && !todo.failed_before ? kExitOk : kExitFailure;
}

Result<std::uint64_t> submit(Session& session, const RemoteBatch& batch, const Todo& todo,
                             const BatchResults& results,
                             const std::vector<PoolMachine>& machines) {
  std::error_code failure;
  const std::string folder = std::filesystem::current_path(failure).string();
  if (failure) return io_error("the current folder is gone", failure.value());
  json::object job = job_of(batch, todo, results, machines, folder);
  if (!batch.copy_forward.empty()) {
    auto digest = copy_of(session, batch, folder);
    if (!digest) return digest.error();
    job["snapshot"] = *digest;
  }
  for (const std::uint32_t line : todo.lines.line_numbers) results.forget(line);
  auto submitted = submit_jobs(session, json::array{std::move(job)});
  if (!submitted) return submitted.error();
  const std::uint64_t id = submitted->ids.front();
  if (auto kept = results.remember(id, todo.lines.line_numbers); !kept) return kept.error();
  return id;
}

}  // namespace

int run_remote_batch(Session& session, const RemoteBatch& batch) {
  std::error_code failure;
  const BatchResults results(std::filesystem::current_path(failure).string(), batch.file);
  auto machines = gather_machines(session, batch.machines, batch.need);
  if (!machines) return session.fail(machines.error());
  session.screen().out(limits_text(*machines));
  if (batch.verbose) {
    for (const PoolMachine& machine : *machines) {
      session.screen().err(fmt::format("{} (node {}): no further job because: {}\n",
                                       printable(machine.given), printable(machine.node),
                                       machine.slots.limited_by));
    }
  }
  const Todo todo = lines_to_run(session, batch, results);
  if (todo.lines.lines.empty()) return todo.failed_before ? kExitFailure : kExitOk;
  const bool fits = std::any_of(machines->begin(), machines->end(),
                                [](const PoolMachine& m) { return !m.slots.gpus.empty(); });
  if (!fits) return session.fail({ErrorCode::kExhausted, why_nowhere(*machines)});
  if (batch.dry_run) {
    for (std::size_t i = 0; i < todo.lines.lines.size(); ++i) {
      session.screen().out(fmt::format("would start: {};  {}\n",
                                       results.name(todo.lines.line_numbers[i]),
                                       printable(todo.lines.lines[i])));
    }
    return kExitOk;
  }
  auto id = submit(session, batch, todo, results, *machines);
  if (!id) return session.fail(id.error());
  return watch(session, *id, todo, results);
}

}  // namespace tutti
