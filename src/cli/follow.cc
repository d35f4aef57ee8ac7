#include "cli/follow.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "cli/interrupt.h"
#include "cli/output/json.h"
#include "cli/output/rank_lines.h"
#include "cli/output/text.h"
#include "cli/output/transfers.h"
#include "cli/select.h"
#include "wire/most_followed.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kReconnects = 40;
constexpr int kReconnectPauseMs = 250;
constexpr int kWhyAfterMs = 1000;
// How often is looked at what is copied: before the job runs, and while it may be about to end.
constexpr int kCopiesMs = 250;
constexpr int kResultsMs = 1000;

// Counts what was shown of each log, so that a repeated stream goes on where the last one broke.
class Shown {
 public:
  void begin_again() { replayed_.clear(); }

  // The part of the next piece of a log that is new.
  std::string_view fresh(const std::string& log, std::string_view piece) {
    std::uint64_t& shown = shown_[log];
    std::uint64_t& at = replayed_[log];
    const std::uint64_t known = std::min<std::uint64_t>(shown > at ? shown - at : 0, piece.size());
    at += piece.size();
    shown = std::max(shown, at);
    return piece.substr(known);
  }

 private:
  std::map<std::string, std::uint64_t> shown_;
  std::map<std::string, std::uint64_t> replayed_;
};

class Follower : public StreamListener {
 public:
  Follower(Session& session, const FollowOptions& options)
      : session_(session), options_(options), rank_lines_(session.screen(), options.ranks) {}

  Result<Followed> run() {
    if (options_.logs && !shows_logs()) say_no_logs();
    for (int tries = 0; tries < kReconnects; ++tries) {
      shown_.begin_again();
      progressed_ = false;
      auto streamed = session_.client().stream(target(), *this);
      hide_copies();
      if (ended_ && options_.task) return with_task();
      if (ended_ || left_) return Followed{job_, left_, {}};
      if (late_) return too_late();
      if (!streamed && streamed.error().code != ErrorCode::kUnavailable) return streamed.error();
      if (progressed_) tries = 0;
      opened_ = opened_ || progressed_;
      // A tail cannot be continued exactly, and a first failure is not a loss of the daemon.
      if (!streamed && (options_.tail || !opened_)) return streamed.error();
      last_ = streamed ? Error{ErrorCode::kUnavailable, "the daemon ended the stream too early"}
                       : streamed.error();
      pollfd wake{interrupt_.fd(), POLLIN, 0};
      ::poll(&wake, 1, kReconnectPauseMs);
      if (on_wake() == Next::kStop) {
        if (late_) return too_late();
        return Followed{job_, left_, {}};
      }
    }
    return last_;
  }

  Next on_event(const ServerEvent& event) override {
    progressed_ = true;
    auto value = parse_json(event.data);
    if (!value) return Next::kGoOn;
    if (event.name == "log") {
      show_log(*value);
      return after_output();
    }
    if (event.name == "job" || event.name == "end") {
      job_ = job_view(*value);
      if (options_.on_job) options_.on_job(job_);
      ended_ = event.name == "end";
      if (!copies_.empty() && !ended_) options_.copies->show(copies_);
    }
    return ended_ ? Next::kStop : Next::kGoOn;
  }

  Next on_wake() override {
    if (const int signal = interrupt_.take()) return interrupted(signal);
    late_ = options_.deadline && session_.now() >= options_.deadline;
    if (late_) return Next::kStop;
    if (may_say_why()) say_why();
    if (may_look_at_copies()) look_at_copies();
    return Next::kGoOn;
  }

  int wake_fd() const override { return interrupt_.fd(); }
  int wake_after_ms() const override {
    std::int64_t after = may_say_why() ? kWhyAfterMs : 3'600'000;
    if (may_look_at_copies()) {
      after = copies_.empty() && job_.counts.starting == 0 ? kResultsMs : kCopiesMs;
    }
    if (options_.deadline) {
      after = std::min(after, (options_.deadline - session_.now()).value / 1000 + 1);
    }
    return static_cast<int>(std::max<std::int64_t>(after, 0));
  }

 private:
  bool shows_logs() const { return options_.logs && options_.ranks <= kMostFollowed; }

  void say_no_logs() {
    session_.screen().err(
        fmt::format("tutti: job {0} has {1} ranks, too many to show their output as it comes; see "
                    "'tutti show {0}' and 'tutti logs {0}.0'\n",
                    options_.job, grouped(options_.ranks)));
  }

  std::string target() const {
    std::string text = fmt::format("/v1/jobs/{}/stream", options_.job);
    char next = '?';
    const auto add = [&](std::string_view key, std::int64_t value) {
      text += fmt::format("{}{}={}", next, key, value);
      next = '&';
    };
    if (options_.task) add("until", *options_.task);
    if (!shows_logs()) return text;
    add("logs", 1);
    if (options_.task) add("task", *options_.task);
    for (std::uint64_t rank = 0; rank < options_.ranks; ++rank)
      text += (rank == 0 ? "&task=" : ",") + std::to_string(rank);
    if (options_.tail) add("tail", *options_.tail);
    return text;
  }

  Result<Followed> with_task() const {
    auto task = fetch_task(session_.client(), options_.job, *options_.task);
    if (!task) return task.error();
    return Followed{job_, {}, task_view(*task)};
  }

  Error too_late() const {
    return {ErrorCode::kTimeout,
            fmt::format("job {}{} has not ended in time", options_.job,
                        options_.task ? fmt::format(".{}", *options_.task) : "")};
  }

  void show_log(json::value& value) {
    auto text = text_from_json(value.as_object().at("text"), "text");
    if (!text) return;
    const std::string stream = text_at(value, "stream");
    if (options_.one_stream && stream != options_.stream) return;
    const std::string log = fmt::format("{}.{}.{}", integer_at(value, "task").value_or(0),
                                        integer_at(value, "attempt").value_or(0), stream);
    const std::string_view fresh = shown_.fresh(log, *text);
    if (fresh.empty()) return;
    hide_copies();
    if (session_.json()) {
      value.as_object()["text"] = text_to_json(fresh);
      print_json(session_.screen(), value);
      return;
    }
    if (options_.ranks > 0) {
      rank_lines_.add(integer_at(value, "task").value_or(0), stream == "stderr", fresh);
      return;
    }
    mid_line_ = !fresh.ends_with('\n');
    if (stream == "stderr") {
      session_.screen().err(fresh);
    } else {
      session_.screen().out(fresh);
    }
  }

  // Whether to go on when output may have been lost. Of a job that is its own it ends what prints
  // for nobody, as a pipe does; a full disk is no reason, because the job's log has the output too.
  Next after_output() {
    const Screen& screen = session_.screen();
    if (!screen.broken() && !screen.nobody_reads()) return Next::kGoOn;
    if (!options_.cancel_on_interrupt)
      return leave(screen.nobody_reads() ? kExitUnread : kExitFailure);
    if (screen.nobody_reads() && !cancelled_) cancel("nobody reads its output: ");
    return Next::kGoOn;
  }

  Next interrupted(int signal) {
    const bool leaves = cancelled_ && options_.leave_on_second_interrupt;
    if (!options_.cancel_on_interrupt || leaves) return leave(128 + signal);
    if (ending_) {
      session_.screen().err(fmt::format(
          "\ntutti: job {} is being ended; what is left after its grace time is killed\n",
          options_.job));
    } else {
      cancel("");
    }
    return Next::kGoOn;
  }

  Next leave(int status) {
    left_ = status;
    return Next::kStop;
  }

  void cancel(std::string_view why) {
    json::array jobs{json::object{{"id", options_.job}}};
    for (const std::uint64_t id : options_.cancelled_too) jobs.push_back(json::object{{"id", id}});
    const json::object body{{"jobs", std::move(jobs)}};
    cancelled_ = true;
    hide_copies();
    session_.screen().err(fmt::format("\ntutti: {}cancelling job {}\n", why, options_.job));
    auto answer = session_.client().request("POST", "/v1/cancel", json::serialize(body));
    ending_ = static_cast<bool>(answer);
    // What has ended meanwhile is nothing to be told.
    if (!answer && answer.error().code != ErrorCode::kConflict)
      session_.screen().err("tutti: " + printable(answer.error().message) + "\n");
  }

  // Only jobs that were granted a place have something copied. A line that the job has not ended
  // would be drawn over.
  bool may_look_at_copies() const {
    return options_.copies != nullptr && elsewhere_ && !mid_line_ &&
           session_.screen().err_is_terminal() && job_.counts.starting + job_.counts.running > 0;
  }

  void look_at_copies() {
    auto answer = session_.client().request("GET", "/v1/nodes", {});
    if (!answer) return;
    const std::vector<NodeView> nodes = node_views(*answer);
    // Without other machines there is nothing to look at.
    elsewhere_ = std::any_of(nodes.begin(), nodes.end(),
                             [](const NodeView& node) { return !node.address.empty(); });
    const std::string line = transfer_line(nodes, options_.job, session_.screen().width());
    if (line.empty() && !copies_.empty()) {
      hide_copies();
      if (options_.on_job) options_.on_job(job_);
    }
    copies_ = line;
    if (!copies_.empty()) options_.copies->show(copies_);
  }

  void hide_copies() {
    if (!copies_.empty()) options_.copies->clear();
    copies_.clear();
  }

  bool may_say_why() const {
    return options_.say_why_waiting && !said_why_ && session_.screen().err_is_terminal() &&
           (job_.id == 0 || job_.state == "queued");
  }

  void say_why() {
    said_why_ = true;
    auto answer =
        session_.client().request("GET", fmt::format("/v1/jobs/{}/explain", options_.job), {});
    if (!answer) return;
    const ExplanationView explanation = explanation_view(*answer);
    if (explanation.reasons.empty()) return;
    hide_copies();
    const std::string text =
        fmt::format("job {} waits: {}", options_.job, printable(explanation.reasons.front()));
    session_.screen().err(session_.screen().styled(Style::kDim, text) + "\n");
  }

  Session& session_;
  const FollowOptions& options_;
  RankLines rank_lines_;
  Interrupt interrupt_;
  std::string copies_;     // the line that shows what is copied
  bool elsewhere_ = true;  // there are machines to copy to
  bool mid_line_ = false;  // the job's last output was a part of a line
  Shown shown_;
  JobView job_;
  Error last_;
  bool ended_ = false;
  std::optional<int> left_;  // the exit status with which the watching stopped
  bool cancelled_ = false;   // it was tried
  bool ending_ = false;      // the daemon does it
  bool said_why_ = false;
  bool late_ = false;
  bool progressed_ = false;  // something came since the stream was opened
  bool opened_ = false;      // something came ever
};

}  // namespace

Result<Followed> follow(Session& session, const FollowOptions& options) {
  return Follower(session, options).run();
}

}  // namespace tutti
