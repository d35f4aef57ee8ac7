#include "sim/scenario_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "core/plan/reason.h"
#include "core/spec/quantity.h"
#include "sim/scenario_options.h"
#include "sim/simulation.h"
#include "sim/timeline.h"

namespace tutti {
namespace {

// One playing of a scenario.
class Play {
 public:
  explicit Play(const Scenario& scenario) : scenario_(scenario) {}

  Result<std::vector<std::string>> run();

 private:
  Error at_line(int line, const std::string& message) const {
    return invalid_input(fmt::format("{}:{}: {}", scenario_.file, line, message));
  }
  void broken(int line, const std::string& what) {
    broken_.push_back(fmt::format("{}:{}: {}", scenario_.file, line, what));
  }
  Result<void> perform(const ScenarioAction& action);
  Result<void> submit(const ScenarioAction& action);
  Result<void> change_jobs(const ScenarioAction& action);
  Result<void> change_world(const ScenarioAction& action);
  void probe_reasons(Duration before);
  void check(const Expectation& expect, const Timeline& timeline);
  void check_time(const Expectation& expect, std::optional<TimePoint> time);
  void check_state(const Expectation& expect);
  void check_order(const Expectation& expect, const Timeline& timeline);
  void check_node(const Expectation& expect);
  void check_running(const Expectation& expect, const Timeline& timeline);
  const std::vector<JobId>& jobs(const std::string& name) { return jobs_[name]; }

  const Scenario& scenario_;
  Simulation simulation_;
  std::map<std::string, std::vector<JobId>> jobs_;
  std::map<std::string, std::string> refused_;
  std::vector<std::string> broken_;
};

Result<void> Play::submit(const ScenarioAction& action) {
  const auto newest = [&](const std::string& name) -> std::optional<JobId> {
    const auto it = jobs_.find(name);
    if (it == jobs_.end() || it->second.empty()) return std::nullopt;
    return it->second.back();
  };
  Result<JobSpec> spec = spec_of(action, newest);
  if (!spec) return spec.error();
  const Result<JobId> job = simulation_.submit(std::move(*spec));
  if (job) {
    jobs_[action.name].push_back(*job);
    return {};
  }
  refused_[action.name] = job.error().message;
  const bool expected = std::any_of(
      scenario_.expectations.begin(), scenario_.expectations.end(), [&](const Expectation& one) {
        return one.kind == Expectation::Kind::kRefused && one.name == action.name;
      });
  if (!expected) broken(action.line, "was refused: " + job.error().message);
  return {};
}

Result<void> Play::change_jobs(const ScenarioAction& action) {
  if (jobs(action.name).empty()) return invalid_input("there is no job '" + action.name + "' yet");
  std::vector<std::uint32_t> tasks;
  for (const ScenarioOption& option : action.options) {
    const Result<std::uint32_t> task = parse_count("task", option.value, 0, 1'000'000);
    if (option.key != "task" || !task)
      return invalid_input(action.verb + " takes task=NUMBER, nothing else");
    tasks.push_back(*task);
  }
  for (const JobId job : jobs(action.name)) {
    const Result<Changed> changed =
        action.verb == "cancel" ? simulation_.cancel(job, tasks) : simulation_.retry(job, tasks);
    if (!changed) broken(action.line, "was refused: " + changed.error().message);
  }
  return {};
}

Result<void> Play::change_world(const ScenarioAction& action) {
  const auto set_state = [&](Node::State state) -> Result<void> {
    const Result<Node> node = simulation_.set_node_state(action.name, state, "scenario");
    if (!node) return node.error();
    return {};
  };
  if (action.verb == "node") {
    Result<Node> node = node_of(action);
    if (!node) return node.error();
    simulation_.add_node(std::move(*node));
    return {};
  }
  if (action.verb == "speed") {
    Result<SpeedChange> speed = speed_of(action);
    if (!speed) return speed.error();
    const Result<Changed> changed = simulation_.set_speeds({std::move(*speed)});
    return changed ? Result<void>() : Result<void>(changed.error());
  }
  if (action.verb == "drain") return set_state(Node::State::kDraining);
  if (action.verb == "down") return set_state(Node::State::kDown);
  if (action.verb == "resume") return set_state(Node::State::kUp);
  if (action.verb == "kill-executor") simulation_.kill_executor();
  if (action.verb == "cut-off") simulation_.cut_off_executor();
  if (action.verb == "reconnect") simulation_.reconnect_executor();
  if (action.verb == "restart-controller") simulation_.restart_controller();
  if (action.verb == "disk-full") simulation_.store().set_full(true);
  if (action.verb == "disk-free") simulation_.store().set_full(false);
  return {};
}

Result<void> Play::perform(const ScenarioAction& action) {
  if (action.verb == "submit") return submit(action);
  if (action.verb == "cancel" || action.verb == "retry") return change_jobs(action);
  return change_world(action);
}

// Reasons are asked for on the way: afterwards nobody waits any more.
void Play::probe_reasons(Duration before) {
  while (true) {
    const Expectation* next = nullptr;
    for (const Expectation& one : scenario_.expectations) {
      if (one.kind == Expectation::Kind::kReason && one.from >= simulation_.elapsed() &&
          one.from < before && (next == nullptr || one.from < next->from))
        next = &one;
    }
    if (next == nullptr) return;
    simulation_.advance(next->from - simulation_.elapsed());
    for (const Expectation& one : scenario_.expectations) {
      if (one.kind != Expectation::Kind::kReason || one.from != next->from) continue;
      std::string found;
      for (const JobId job : jobs(one.name)) {
        const Result<Explanation> why = simulation_.explain(job);
        for (const Reason& reason : why ? why->reasons : std::vector<Reason>())
          found += fmt::format("{}{}", found.empty() ? "" : ", ", reason_name(reason.code));
      }
      if (found.find(one.word) == std::string::npos)
        broken(one.line, fmt::format("{}: but it is {}", one.text, found.empty() ? "none" : found));
    }
    // Asking again for the same moment would never end.
    simulation_.advance(microseconds(1));
  }
}

Result<std::vector<std::string>> Play::run() {
  for (const ScenarioAction& action : scenario_.actions) {
    if (action.at > simulation_.elapsed()) {
      probe_reasons(action.at);
      simulation_.advance(std::max(action.at - simulation_.elapsed(), Duration(0)));
    }
    if (const Result<void> done = perform(action); !done)
      return at_line(action.line, done.error().message);
  }
  probe_reasons(seconds(100LL * 365 * 86400));
  if (!simulation_.run_until_idle()) broken_.push_back(scenario_.file + ": it never ended");
  const Timeline timeline(simulation_.store().journal());
  for (const Expectation& expect : scenario_.expectations) check(expect, timeline);
  for (const std::string& complaint : simulation_.executor().complaints())
    broken_.push_back(scenario_.file + ": " + complaint);
  return broken_;
}

// ---- expectations
// --------------------------------------------------------------------------------

void Play::check_time(const Expectation& expect, std::optional<TimePoint> time) {
  if (!time) {
    broken(expect.line, expect.text + ": but it never did");
    return;
  }
  const Duration at = *time - VirtualClock::kStart;
  if (at < expect.from || at > expect.to)
    broken(expect.line, fmt::format("{}: but it was at {}", expect.text, format_duration(at)));
}

void Play::check_state(const Expectation& expect) {
  for (const auto& [name, ids] : jobs_) {
    if (!expect.name.empty() && name != expect.name) continue;
    for (const JobId job : ids) {
      const std::string state = task_state_name(simulation_.state_of(job));
      if (state != expect.word)
        broken(expect.line,
               fmt::format("{}: but {} (job {}) is {}", expect.text, name, job.value, state));
    }
  }
  if (!expect.name.empty() && jobs(expect.name).empty())
    broken(expect.line, expect.text + ": but there is no such job");
}

void Play::check_order(const Expectation& expect, const Timeline& timeline) {
  std::optional<TimePoint> before;
  for (const std::string& name : expect.others) {
    const std::optional<TimePoint> start = timeline.first_start(jobs(name));
    if (!start) {
      broken(expect.line, fmt::format("{}: but {} never started", expect.text, name));
      return;
    }
    if (before && *start < *before)
      broken(expect.line, fmt::format("{}: but {} started earlier", expect.text, name));
    before = start;
  }
}

void Play::check_node(const Expectation& expect) {
  std::string found;
  for (const Event& event : simulation_.store().journal()) {
    const auto* placed = std::get_if<AttemptPlaced>(&event.body);
    if (placed == nullptr) continue;
    const std::vector<JobId>& mine = jobs(expect.name);
    if (std::find(mine.begin(), mine.end(), placed->attempt.task.job) == mine.end()) continue;
    found = simulation_.ledger().find_node(placed->allocation.node)->name;
    if (found != expect.word) break;
  }
  if (found != expect.word)
    broken(expect.line,
           fmt::format("{}: but it ran on {}", expect.text, found.empty() ? "none" : found));
}

void Play::check_running(const Expectation& expect, const Timeline& timeline) {
  const TimePoint at = VirtualClock::kStart + expect.from;
  const std::size_t running =
      expect.name.empty() ? timeline.running_at(at) : timeline.running_at(at, jobs(expect.name));
  const bool fine = expect.word == "<="   ? running <= expect.count
                    : expect.word == ">=" ? running >= expect.count
                                          : running == expect.count;
  if (!fine) broken(expect.line, fmt::format("{}: but {} ran", expect.text, running));
}

void Play::check(const Expectation& expect, const Timeline& timeline) {
  using Kind = Expectation::Kind;
  const std::optional<TimePoint> start = timeline.first_start(jobs(expect.name));
  switch (expect.kind) {
    case Kind::kStarts:
      return check_time(expect, start);
    case Kind::kEnds:
      return check_time(expect, timeline.last_end(jobs(expect.name)));
    case Kind::kStartsFirst: {
      const std::optional<TimePoint> other = timeline.first_start(jobs(expect.others[0]));
      if (!start || (other && *start >= *other)) broken(expect.line, expect.text + ": it does not");
      return;
    }
    case Kind::kNeverStarts:
      if (start) broken(expect.line, expect.text + ": it does");
      return;
    case Kind::kState:
      return check_state(expect);
    case Kind::kRefused:
      if (!refused_.contains(expect.name)) broken(expect.line, expect.text + ": it was taken");
      return;
    case Kind::kAttempts:
      if (const std::size_t ran = timeline.attempts_of(jobs(expect.name)); ran != expect.count)
        broken(expect.line, fmt::format("{}: but there were {}", expect.text, ran));
      return;
    case Kind::kRunning:
      return check_running(expect, timeline);
    case Kind::kNode:
      return check_node(expect);
    case Kind::kOrder:
      return check_order(expect, timeline);
    case Kind::kReason:
      return;  // see probe_reasons()
  }
}

}  // namespace

Result<std::vector<std::string>> run_scenario(const Scenario& scenario) {
  return Play(scenario).run();
}

Result<std::vector<std::string>> run_scenario_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("cannot read the scenario " + path);
  std::ostringstream text;
  text << file.rdbuf();
  const Result<Scenario> scenario = parse_scenario(path.substr(path.rfind('/') + 1), text.str());
  if (!scenario) return scenario.error();
  return run_scenario(*scenario);
}

}  // namespace tutti
