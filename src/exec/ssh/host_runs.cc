#include <algorithm>
#include <utility>

#include "exec/keeper/memory_text.h"
#include "exec/ssh/host.h"
#include "exec/ssh/shell_quote.h"

// The half of Host that deals with attempts.

namespace tutti {
namespace {

constexpr Duration kLongestLook = seconds(5);
// Of what is over sooner, the end says it all.
constexpr Duration kShort = milliseconds(20);
// Folders there are removed by one process for many.
constexpr std::size_t kMostForgotten = 64;
// Of copying. A connection that breaks makes copies fail before it is known to be broken.
constexpr int kMostTries = 5;
constexpr Duration kFirstRetry = milliseconds(100);
// Files that new ones may be made from; the older they are, the less they have in common.
constexpr std::size_t kMostStaged = 8;
constexpr char kNoFiles[] = "no staged files";
constexpr char kPortTaken[] = "port ";

// That files could not be written there, a program that ends when its host goes down says as well.
bool may_work_later(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kIo;
}

TimePoint retry_time(TimePoint now, int tries) {
  return now + Duration(kFirstRetry.value << tries);
}

std::string seconds_text(Duration time) {
  return std::to_string((time.value + 999999) / 1000000);
}

// A shell can export only such names.
bool is_variable(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  if (name.empty() || name.size() == entry.size() || (name[0] >= '0' && name[0] <= '9'))
    return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Run* Host::find(AttemptId attempt) {
  const auto found = runs_.find(attempt);
  return found == runs_.end() ? nullptr : &found->second;
}

std::string Host::folder_of(const Run& run) const {
  return root_ + "/a/" + attempt_key(run.order.attempt);
}

Run& Host::take_in(StartAttempt order) {
  Run& run = runs_[order.attempt];
  run = Run();
  const auto here = [&](const std::string& path) {
    return path.empty() || path.starts_with('/') ? path : place_.home + "/logs/" + path;
  };
  run.out.name = "out";
  run.out.path = here(order.launch.stdout_path);
  run.err.name = "err";
  if (order.launch.stderr_path != order.launch.stdout_path)
    run.err.path = here(order.launch.stderr_path);
  run.order = std::move(order);
  return run;
}

void Host::start(StartAttempt order) {
  Run& run = take_in(std::move(order));
  for (const RunOutput* output : {&run.out, &run.err}) {
    if (output->path.empty()) continue;
    if (Result<void> made = write_output(output->path, 0, ""); !made)
      run.trouble = made.error().message;
  }
  if (connected()) send(run);
}

void Host::adopt(const KnownAttempt& known) {
  if (runs_.contains(known.id) || !known.order) return;
  Run& run = take_in(*known.order);
  run.phase = Phase::kSent;
  run.started_at = known.started_at;
  if (!known.started_at) return;
  for (RunOutput* output : {&run.out, &run.err}) output->size = size_of_output(output->path);
}

void Host::send(Run& run) {
  const StartAttempt& order = run.order;
  const LaunchContext& context = *order.context;
  if (run.stop_cause != Ending::kExited) return lose(run, "");
  if (staging_.contains(context.snapshot)) {
    run.phase = Phase::kFiles;
    transfers_.join(node_.id, context.snapshot, order.attempt.task.job);
    return;
  }
  if (order.held) return ask(run);
  std::vector<std::string> env;
  for (const auto* list : {&context.remote_env, &order.launch.env}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(env), is_variable);
  }
  const bool merged = order.launch.stderr_path == order.launch.stdout_path;
  std::vector<std::string> words = {attempt_key(order.attempt),
                                    context.snapshot.empty() ? context.workdir : "",
                                    context.snapshot,
                                    seconds_text(context.time_limit),
                                    seconds_text(context.grace),
                                    merged ? "1" : "0",
                                    order.launch.script_text,
                                    shell_line(order.launch.cleanup),
                                    std::to_string(env.size())};
  words.insert(words.end(), env.begin(), env.end());
  words.emplace_back("--");
  for (const std::string& word : order.launch.argv)
    words.push_back(word == kScriptPlaceholder ? folder_of(run) + "/script" : word);
  run.phase = Phase::kSent;
  link_.call("tutti_start", words);
}

// A rank of a gang starts when all are ready; what it needs must be there by then.
void Host::ask(Run& run) {
  std::vector<std::string> words = {attempt_key(run.order.attempt), run.order.context->snapshot};
  for (const std::uint32_t port : run.order.allocation.ports) words.push_back(std::to_string(port));
  run.phase = Phase::kAsked;
  link_.call("tutti_prepare", words);
}

void Host::take(const AgentReady& ready) {
  Run* const run = find(ready.attempt);
  if (run == nullptr || run->phase != Phase::kAsked) return;
  run->phase = Phase::kHeld;
  reports_.emplace_back(AttemptReady{ready.attempt});
}

void Host::release(AttemptId attempt) {
  Run* const run = find(attempt);
  if (run == nullptr || run->phase != Phase::kHeld) return;
  run->order.held = false;
  run->phase = Phase::kReady;
  if (connected()) send(*run);
}

void Host::stage(const std::string& digest, JobId job) {
  if (!staging_.insert(digest).second) return transfers_.join(node_.id, digest, job);
  std::erase(staged_, digest);
  transfers_.stage({link_.command(),
                    root_,
                    digest,
                    {staged_.begin(), staged_.end()},
                    place_.home,
                    knows_holes_,
                    node_.id,
                    job},
                   [post = post_, digest](const Result<void>& made) {
                     post([digest, made](Host& host) { host.staged(digest, made); });
                   });
}

void Host::staged(const std::string& digest, const Result<void>& made) {
  staging_.erase(digest);
  if (made) note_staged(digest);
  for (auto& [id, run] : runs_) {
    if (run.phase != Phase::kFiles || run.order.context->snapshot != digest) continue;
    run.try_at = TimePoint();
    if (!connected()) {
      run.phase = Phase::kReady;
    } else if (made) {
      send(run);
    } else if (may_work_later(made.error().code) && run.tries < kMostTries) {
      run.try_at = retry_time(now_, run.tries++);
    } else {
      refuse(run, "its files could not be copied to " + node_.name + ": " + made.error().message);
    }
  }
}

void Host::note_staged(const std::string& digest) {
  std::erase(staged_, digest);
  staged_.push_front(digest);
  if (staged_.size() > kMostStaged) staged_.pop_back();
}

void Host::try_again(TimePoint& due) {
  for (auto& [id, run] : runs_) {
    if (!run.try_at) continue;
    if (run.try_at > now_) {
      due = earlier(due, run.try_at);
      continue;
    }
    run.try_at = TimePoint();
    if (run.phase == Phase::kFiles) stage(run.order.context->snapshot, id.task.job);
    if (run.phase == Phase::kResults) collect(run);
  }
}

void Host::take(const AgentBegun& message) {
  if (Run* run = find(message.attempt)) begun(*run, message.pid);
}

void Host::begun(Run& run, std::int64_t pid) {
  if (run.phase != Phase::kSent && run.phase != Phase::kRunning) return;
  run.phase = Phase::kRunning;
  run.pid = pid;
  if (const std::string& digest = run.order.context->snapshot; !digest.empty()) note_staged(digest);
  run.out.next = run.err.next = now_ + run.out.pause;
  if (run.started_at) return;
  run.started_at = now_;
  run.tell_start_at = now_ + kShort;
  if (run.order.allocation.measuring) probe_at_ = now_ + seconds(1);
}

void Host::take(const AgentEnded& message) {
  if (Run* run = find(message.attempt)) {
    if (run->phase == Phase::kSent || run->phase == Phase::kRunning) ended(*run, message.end);
  } else {
    link_.call("tutti_forget", {attempt_key(message.attempt)});
  }
}

void Host::take(const AgentRefused& refused) {
  Run* const run = find(refused.attempt);
  if (run == nullptr || (run->phase != Phase::kSent && run->phase != Phase::kAsked)) return;
  if (refused.reason.starts_with(kNoFiles) && ++run->tries < kMostTries) {
    run->phase = Phase::kFiles;
    return stage(run->order.context->snapshot, run->order.attempt.task.job);
  }
  refuse(*run, node_.name + ": " + refused.reason);
  // Somebody else has it: with other ports it may start.
  if (!refused.reason.starts_with(kPortTaken)) return;
  run->told.outcome.ending = Ending::kPreempted;
  reports_.back() = run->told;
}

void Host::refuse(Run& run, std::string why) {
  Outcome outcome{.ending = Ending::kNotStarted, .exit_code = 126, .message = std::move(why)};
  run.told = {run.order.attempt, {}, now_, std::move(outcome), true};
  run.phase = Phase::kTold;
  reports_.emplace_back(run.told);
}

void Host::ended(Run& run, const AgentEnd& end) {
  run.end = end;
  run.phase = Phase::kOutput;
  run.tries = 0;
  const bool merged = run.err.path.empty();
  run.out.complete = run.out.path.empty() || !(end.has_output || (merged && end.has_errors));
  run.err.complete = merged || !end.has_errors;
  go_on(run);
}

// Takes the next step of a run that has ended.
void Host::go_on(Run& run) {
  if (!connected()) return;
  if (run.phase == Phase::kOutput) {
    for (RunOutput* output : {&run.out, &run.err}) {
      if (!output->complete) look_for_output(run, *output);
    }
    if (!run.out.complete || !run.err.complete) return;
    run.phase = Phase::kResults;
    run.tries = 0;
  }
  if (run.phase != Phase::kResults) return;
  if (run.order.launch.result_folder.empty()) return tell_end(run);
  collect(run);
}

void Host::look_for_output(Run& run, RunOutput& output) {
  if (output.asked) return;
  output.asked = true;
  const bool errors = &output == &run.err;
  output_.read(folder_of(run) + "/" + output.name, output.size,
               [this, id = run.order.attempt, errors](std::string_view bytes) {
                 take_output(id, errors, bytes);
               });
}

void Host::take_output(AttemptId attempt, bool errors, std::string_view bytes) {
  Run* const run = find(attempt);
  if (run == nullptr) return;
  RunOutput& output = errors ? run->err : run->out;
  output.asked = false;
  if (!bytes.empty()) {
    if (Result<void> written = write_output(output.path, output.size, bytes); !written)
      run->trouble = written.error().message;
    output.size += bytes.size();
  }
  output.pause = bytes.empty() ? std::min(output.pause + output.pause, kLongestLook) : seconds(1);
  const bool more = bytes.size() == OutputShell::kPiece;
  output.next = more ? now_ : now_ + output.pause;
  if (run->phase != Phase::kOutput) return;
  output.complete = !more;
  go_on(*run);
}

void Host::collect(Run& run) {
  const LaunchContext& context = *run.order.context;
  const std::string work = context.snapshot.empty() ? context.workdir : folder_of(run) + "/work";
  transfers_.collect(
      {link_.command(), work, run.order.launch.result_paths, run.order.launch.result_folder,
       has_rsync_ && !link_.noisy(), node_.id, run.order.attempt.task.job},
      [post = post_, id = run.order.attempt](const Result<void>& copied) {
        post([id, copied](Host& host) { host.collected(id, copied); });
      });
}

void Host::collected(AttemptId attempt, const Result<void>& copied) {
  Run* const run = find(attempt);
  if (run == nullptr || run->phase != Phase::kResults) return;
  if (copied) {
    run->trouble.clear();
    return tell_end(*run);
  }
  run->trouble = "its results could not be fetched: " + copied.error().message;
  if (!connected()) return;
  // What is not there will not be there later.
  const bool cut_off = copied.error().code == ErrorCode::kUnavailable;
  if (!cut_off || run->tries == kMostTries) return tell_end(*run);
  run->try_at = retry_time(now_, run->tries++);
}

Outcome Host::outcome_of(const Run& run) const {
  Outcome outcome;
  outcome.exit_code = run.end.status;
  outcome.cpu_time = run.end.cpu_time;
  outcome.message = run.trouble;
  if (run.use.samples > 0) {
    outcome.device_measured = true;
    outcome.device_memory = run.use.peak;
    outcome.device_share = MilliGpu(run.use.busy / run.use.samples);
  }
  if (run.end.over_time) {
    outcome.ending = Ending::kTimeout;
  } else if (run.end.stopped && run.stop_cause != Ending::kExited) {
    outcome.ending = run.stop_cause;
  } else if (const bool has_devices = !run.order.allocation.devices.empty();
             run.end.status != 0 && may_tell_of_memory(run.end.status, has_devices)) {
    const std::string& path = run.err.path.empty() ? run.out.path : run.err.path;
    outcome.ending = memory_ending(tail_of_output(path), run.end.status, has_devices);
  }
  // What was promised is not there: a job whose results are lost has not succeeded.
  if (!run.trouble.empty() && outcome.succeeded()) outcome.exit_code = 1;
  return outcome;
}

void Host::tell_end(Run& run) {
  const TimePoint began = run.started_at ? run.started_at : now_ - run.end.ran;
  run.phase = Phase::kTold;
  run.told = {run.order.attempt, began, began + run.end.ran, outcome_of(run), true};
  reports_.emplace_back(run.told);
}

// It runs nowhere that we know of: its task is to run again, at nobody's expense.
void Host::lose(Run& run, const std::string& why) {
  Outcome outcome{.ending = Ending::kPreempted, .message = why};
  if (run.stop_cause != Ending::kExited) outcome = {.ending = run.stop_cause};
  run.lost = true;
  run.phase = Phase::kTold;
  run.told = {run.order.attempt, run.started_at, now_, outcome, true};
  reports_.emplace_back(run.told);
}

void Host::stop(AttemptId attempt, Ending cause) {
  Run* const run = find(attempt);
  if (run == nullptr || run->phase == Phase::kTold) return;
  run->stop_cause = cause;
  if (run->phase < Phase::kSent) return lose(*run, "");
  if (!connected()) return;  // as soon as it is
  if (run->phase == Phase::kSent || run->phase == Phase::kRunning)
    link_.call("tutti_stop",
               {attempt_key(attempt), seconds_text(run->order.context->grace), ending_name(cause)});
}

void Host::forget(AttemptId attempt) {
  const auto found = runs_.find(attempt);
  if (found == runs_.end() || found->second.phase != Phase::kTold) return;
  const bool lost = found->second.lost;
  runs_.erase(found);
  if (!connected()) return;  // the next list shows it as one that nobody knows
  if (lost) link_.call("tutti_stop", {attempt_key(attempt), "10", "cancelled"});
  forgotten_.push_back(attempt_key(attempt));
  if (forgotten_.size() >= kMostForgotten) forget_now();
}

void Host::forget_now() {
  if (!forgotten_.empty() && connected()) link_.call("tutti_forget", forgotten_);
  forgotten_.clear();
}

void Host::tell_starts(TimePoint& due) {
  for (auto& [id, run] : runs_) {
    if (run.phase != Phase::kRunning || !run.tell_start_at) continue;
    if (run.tell_start_at > now_) {
      due = std::min(due, run.tell_start_at);
      continue;
    }
    run.tell_start_at = TimePoint();
    reports_.emplace_back(AttemptStarted{id, run.started_at, run.pid, 0});
  }
}

void Host::tell_again() {
  for (const auto& [id, run] : runs_) {
    if (run.phase == Phase::kTold) reports_.emplace_back(run.told);
    if (run.phase == Phase::kHeld) reports_.emplace_back(AttemptReady{id});
  }
}

}  // namespace tutti
