#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/follow.h"
#include "cli/follow_batch.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/rank_lines.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/submission.h"
#include "cli/verbs/verbs.h"
#include "core/spec/quantity.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

constexpr Option kOptions[] = {
    {"follow", 'f', Kind::kFlag, {}, "go on until it ends, and return its exit code", {}},
    {"tail", 0, Kind::kValue, "N", "only the last N lines", {}},
    {"stdout", 0, Kind::kFlag, {}, "only stdout", {}},
    {"stderr", 0, Kind::kFlag, {}, "only stderr", {}},
    {"task", 0, Kind::kValue, "N", "of this task; the same as JOB.N", {}},
    {"rank", 0, Kind::kValue, "N", "the same as --task", {}},
    {"attempt", 0, Kind::kValue, "N", "of this attempt (default: the last)", {}},
    {"all",
     'a',
     Kind::kFlag,
     {},
     "of all tasks, one after the other; of ranks with their number",
     {}},
    {"json", 0, Kind::kFlag, {}, "print JSON objects, one on each line: pieces of output", {}},
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {{"tutti logs -f last", "watch the newest job"},
                                 {"tutti logs 12.7 --tail 20", "the end of task 7 of job 12"},
                                 {"tutti logs 12 --stderr > errors", "one stream into a file"}};

// What the options ask for, checked.
struct Wish {
  std::uint64_t job = 0;
  std::optional<std::int64_t> task;
  std::optional<std::int64_t> tail;
  std::optional<std::int64_t> attempt;
  std::uint64_t ranks = 0;  // of a gang of which no rank was named
  bool out = true;
  bool err = true;
};

Result<std::optional<std::int64_t>> number_of(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) return {std::nullopt};
  const int least = option == "attempt" ? 1 : 0;
  auto number = parse_count(option, arguments.value(option), least, UINT32_MAX);
  if (!number) return number.error();
  return {std::optional<std::int64_t>(*number)};
}

Result<Wish> wish_of(Session& session, const Arguments& arguments) {
  Wish wish;
  for (const auto& [option, target] : {std::pair("tail", &wish.tail),
                                       {"attempt", &wish.attempt},
                                       {"task", &wish.task},
                                       {"rank", &wish.task}}) {
    auto number = number_of(arguments, option);
    if (!number) return number.error();
    if (*number) *target = *number;
  }
  auto chosen = choose_one(session.client(), arguments.words()[0]);
  if (!chosen) return chosen.error();
  wish.job = chosen->id;
  if (!chosen->labels.empty()) {
    if (wish.task && *wish.task != chosen->labels[0]) {
      return invalid_input("the task is named twice, differently");
    }
    wish.task = chosen->labels[0];
  }
  if (arguments.has("stdout") != arguments.has("stderr")) {
    wish.out = arguments.has("stdout");
    wish.err = arguments.has("stderr");
  }
  return wish;
}

// The output of one attempt as JSON objects, one on a line; a piece ends in no character's middle.
class JsonPieces {
 public:
  JsonPieces(Session& session, std::int64_t task, std::int64_t attempt, std::string_view stream)
      : session_(session), task_(task), attempt_(attempt), stream_(stream) {}

  void add(std::string_view bytes) {
    begun_ += bytes;
    print(whole_characters(begun_));
  }
  void end() { print(begun_.size()); }

 private:
  void print(std::size_t size) {
    if (size == 0) return;
    print_json(session_.screen(),
               boost::json::object{{"task", task_},
                                   {"attempt", attempt_},
                                   {"stream", stream_},
                                   {"text", text_to_json(begun_.substr(0, size))}});
    begun_.erase(0, size);
  }

  Session& session_;
  std::int64_t task_;
  std::int64_t attempt_;
  std::string_view stream_;
  std::string begun_;  // not printed yet
};

std::string log_target(const Wish& wish, std::string_view stream) {
  std::string target = fmt::format("/v1/jobs/{}/logs?stream={}", wish.job, stream);
  if (wish.task) target += fmt::format("&task={}", *wish.task);
  if (wish.attempt) target += fmt::format("&attempt={}", *wish.attempt);
  if (wish.tail) target += fmt::format("&tail={}", *wish.tail);
  return target;
}

Result<void> copy_json(Session& session, Wish wish, const TaskView& task) {
  if (!wish.attempt) wish.attempt = task.attempt;
  if (wish.attempt == 0) return {};
  for (const std::string_view stream : {"stdout", "stderr"}) {
    if (!(stream == "stdout" ? wish.out : wish.err)) continue;
    JsonPieces pieces(session, task.label, *wish.attempt, stream);
    const auto done = session.client().download(log_target(wish, stream),
                                                [&](std::string_view bytes) -> Result<void> {
                                                  pieces.add(bytes);
                                                  return {};
                                                });
    pieces.end();
    if (!done) return done;
  }
  return {};
}

Result<void> copy_stream(Session& session, const Wish& wish, std::string_view stream,
                         RankLines* lines) {
  return session.client().download(log_target(wish, stream),
                                   [&](std::string_view bytes) -> Result<void> {
                                     if (lines != nullptr) {
                                       lines->add(*wish.task, stream == "stderr", bytes);
                                     } else if (stream == "stderr") {
                                       session.screen().err(bytes);
                                     } else {
                                       session.screen().out(bytes);
                                     }
                                     return {};
                                   });
}

Result<void> copy(Session& session, Wish wish, const TaskView& task, RankLines* lines = nullptr) {
  // With --output alone both streams are in one file, which is shown once.
  if (wish.out && !task.stdout_path.empty() && task.stdout_path == task.stderr_path)
    wish.err = false;
  if (session.json()) return copy_json(session, wish, task);
  if (wish.out) {
    if (auto done = copy_stream(session, wish, "stdout", lines); !done) return done;
  }
  return wish.err ? copy_stream(session, wish, "stderr", lines) : Result<void>();
}

// The task that is meant, or the only one.
Result<TaskView> task_of(Session& session, const Wish& wish) {
  if (wish.task) {
    auto task = fetch_task(session.client(), wish.job, *wish.task);
    if (!task) return task.error();
    return task_view(*task);
  }
  auto answer =
      session.client().request("GET", fmt::format("/v1/jobs/{}/tasks?limit=1", wish.job), {});
  if (!answer) return answer.error();
  const auto tasks = task_views(*answer);
  return tasks.empty() ? TaskView() : tasks[0];
}

// The file that an earlier attempt wrote may have the text of the last one.
void say_overwritten(Session& session, const Wish& wish, const TaskView& task) {
  if (!wish.attempt || *wish.attempt >= task.attempt) return;
  auto job = session.client().request("GET", fmt::format("/v1/jobs/{}", wish.job), {});
  const auto* spec = job ? job->as_object().if_contains("spec") : nullptr;
  if (spec == nullptr) return;
  const bool shared = (wish.out && attempts_share(text_at(*spec, "output"))) ||
                      (wish.err && attempts_share(text_at(*spec, "error")));
  if (!shared) return;
  session.screen().err(
      fmt::format("tutti logs: all attempts write to the same file, this is the output of the "
                  "last one, {}; with %a in its name each has a file of its own\n",
                  task.attempt));
}

int copy_all(Session& session, Wish wish) {
  std::string from;
  while (true) {
    auto answer = session.client().request(
        "GET", fmt::format("/v1/jobs/{}/tasks?limit=500{}", wish.job, from), {});
    if (!answer) return session.fail(answer.error());
    for (const TaskView& task : task_views(*answer)) {
      if (task.attempt == 0) continue;
      wish.task = task.label;
      if (wish.ranks > 0) {
        RankLines lines(session.screen(), wish.ranks);
        if (auto done = copy(session, wish, task, &lines); !done) return session.fail(done.error());
        continue;
      }
      if (!session.json())
        session.screen().out(fmt::format("==> {}.{} <==\n", wish.job, task.label));
      if (auto done = copy(session, wish, task); !done) return session.fail(done.error());
    }
    const auto next = integer_at(*answer, "next_from");
    if (!next) return kExitOk;
    from = fmt::format("&from={}", *next);
  }
}

int follow_logs(Session& session, const Wish& wish) {
  FollowOptions options;
  options.job = wish.job;
  options.logs = true;
  options.task = wish.task;
  options.ranks = wish.ranks;
  options.tail = wish.tail;
  options.one_stream = wish.out != wish.err;
  options.stream = wish.out ? "stdout" : "stderr";
  options.say_why_waiting = true;
  auto followed = follow(session, options);
  if (!followed) return session.fail(followed.error());
  if (followed->left) return *followed->left;
  if (session.json()) {
    print_json(session.screen(), ended_json(*followed));
  } else {
    say_ending(session, *followed);
  }
  return exit_status_of(*followed);
}

int name_one(Session& session, std::uint64_t job, std::uint64_t tasks) {
  auto answer = session.client().request("GET", fmt::format("/v1/jobs/{}/tasks?limit=1", job), {});
  if (!answer) return session.fail(answer.error());
  const auto first = task_views(*answer);
  return session.usage_error(
      fmt::format("job {0} has {1} tasks: name one, such as {0}.{2}, or use --all", job, tasks,
                  first.empty() ? 0 : first[0].label));
}

int run(Session& session, const Arguments& arguments) {
  auto wish = wish_of(session, arguments);
  if (!wish) return session.refuse(wish.error());
  std::uint64_t tasks = 1;
  if (!wish->task) {
    auto answer = session.client().request("GET", fmt::format("/v1/jobs/{}", wish->job), {});
    if (!answer) return session.fail(answer.error());
    tasks = job_view(*answer).tasks;
    wish->ranks = job_view(*answer).shape == "gang" ? tasks : 0;
  }
  if (arguments.has("follow")) {
    if (wish->attempt)
      return session.usage_error("--follow shows the running attempt, not --attempt");
    return tasks > 1 && wish->ranks == 0 ? follow_batch(session, wish->job, false).status
                                         : follow_logs(session, *wish);
  }
  if (tasks > 1 && arguments.has("all")) return copy_all(session, *wish);
  if (tasks > 1) return name_one(session, wish->job, tasks);
  auto task = task_of(session, *wish);
  if (!task) return session.fail(task.error());
  say_overwritten(session, *wish, *task);
  if (auto done = copy(session, *wish, *task); !done) return session.fail(done.error());
  return kExitOk;
}

}  // namespace

const Verb kLogsVerb{
    .name = "logs",
    .aliases = kNoAliases,
    .summary = "show what a job has printed",
    .description =
        "Copies a job's stdout to stdout and its stderr to stderr, byte by byte. "
        "With -f it goes on until the job, or the task that is named, ends and returns its exit "
        "code; for a job of many tasks, without a task, -f shows their progress, and for one of "
        "many workers the output of all, each line with the number of its rank. With --json each "
        "line is an object with task, attempt, stream and text; -f adds one with state and "
        "exit_code.",
    .usage = "[OPTIONS] JOB[.TASK]",
    .word_choices = "<one-job>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
