#include "sim/scenario.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/nearest.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 14> kVerbs = {
    "submit", "cancel",    "retry",     "kill-executor",      "cut-off", "reconnect", "drain",
    "resume", "disk-full", "disk-free", "restart-controller", "node",    "down",      "speed"};
constexpr std::array<std::string_view, 7> kStates = {"succeeded", "failed",  "cancelled", "skipped",
                                                     "queued",    "running", "starting"};
constexpr Duration kForever = seconds(100LL * 365 * 86400);

Words words_of(std::string_view line) {
  Words words;
  std::string word;
  for (const char c : line.substr(0, line.find('#'))) {
    if (c == ' ' || c == '\t' || c == '\r') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<std::pair<Duration, Duration>> parse_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  const Result<Duration> from = parse_duration(text.substr(0, dots));
  if (!from) return from.error();
  if (dots == std::string::npos) return std::pair(*from, *from);
  const Result<Duration> to = parse_duration(text.substr(dots + 2));
  if (!to) return to.error();
  return std::pair(*from, *to);
}

ScenarioOption option_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {word, ""};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

// "VERB [NAME] [options]", from words[first] on.
Result<ScenarioAction> parse_action(const Words& words, std::size_t first) {
  ScenarioAction action;
  if (first >= words.size()) return invalid_input("what should happen then?");
  action.verb = words[first];
  if (!contains(kVerbs, action.verb))
    return invalid_input("unknown command '" + action.verb + "'" +
                         did_you_mean(action.verb, kVerbs));
  const bool named = action.verb == "submit" || action.verb == "cancel" || action.verb == "retry" ||
                     action.verb == "drain" || action.verb == "resume" || action.verb == "node" ||
                     action.verb == "down" || action.verb == "speed";
  std::size_t next = first + 1;
  if (named) {
    if (next >= words.size()) return invalid_input(action.verb + " needs a name");
    action.name = words[next++];
  }
  for (; next < words.size(); ++next) action.options.push_back(option_of(words[next]));
  return action;
}

// A submit with "every" happens "count" times.
Result<std::vector<ScenarioAction>> repeated(ScenarioAction action) {
  Duration every;
  std::uint32_t count = 1;
  std::optional<Error> error;
  std::erase_if(action.options, [&](const ScenarioOption& option) {
    if (option.key == "every") {
      const Result<Duration> parsed = parse_duration(option.value);
      if (parsed) every = *parsed;
      if (!parsed) error = parsed.error();
    } else if (option.key == "count") {
      const Result<std::uint32_t> parsed = parse_count("count", option.value, 1, 100'000);
      if (parsed) count = *parsed;
      if (!parsed) error = parsed.error();
    }
    return option.key == "every" || option.key == "count";
  });
  if (error) return *error;
  std::vector<ScenarioAction> actions(count, action);
  for (std::uint32_t i = 0; i < count; ++i) actions[i].at += every * i;
  return actions;
}

Result<void> parse_times(const Words& words, Expectation& expect) {
  // NAME starts|ends at|before|after WHEN
  if (words.size() != 5)
    return invalid_input("write: expect NAME " + words[2] + " at|before|after TIME");
  const Result<std::pair<Duration, Duration>> range = parse_range(words[4]);
  if (!range) return range.error();
  if (words[3] == "at") {
    expect.from = range->first;
    expect.to = range->second;
  } else if (words[3] == "before") {
    expect.to = range->first - microseconds(1);
  } else if (words[3] == "after") {
    expect.from = range->first + microseconds(1);
    expect.to = kForever;
  } else {
    return invalid_input("'" + words[3] + "': write at, before or after");
  }
  return {};
}

Result<void> parse_starts_or_ends(const Words& words, Expectation& expect) {
  expect.name = words[1];
  const bool starts = words[2] == "starts";
  if (starts && words.size() == 4 && words[3] == "never") {
    expect.kind = Expectation::Kind::kNeverStarts;
    return {};
  }
  const bool other =
      starts && words.size() == 5 && words[3] == "before" && !parse_range(words[4]).has_value();
  if (other) {
    expect.kind = Expectation::Kind::kStartsFirst;
    expect.others = {words[4]};
    return {};
  }
  expect.kind = starts ? Expectation::Kind::kStarts : Expectation::Kind::kEnds;
  return parse_times(words, expect);
}

Result<void> parse_reason(const Words& words, Expectation& expect) {
  if (words.size() != 8 || words[2] != "of" || words[4] != "at" || words[6] != "is")
    return invalid_input("write: expect reason of NAME at TIME is CODE");
  expect.kind = Expectation::Kind::kReason;
  expect.name = words[3];
  expect.word = words[7];
  const Result<Duration> at = parse_duration(words[5]);
  if (!at) return at.error();
  expect.from = expect.to = *at;
  return {};
}

Result<void> parse_running(const Words& words, Expectation& expect) {
  const std::size_t at = words.size() > 2 && words[2] == "at" ? 2 : 3;
  const bool right = words.size() == at + 4 && words[at] == "at" &&
                     (words[at + 2] == "<=" || words[at + 2] == ">=" || words[at + 2] == "=");
  if (!right) return invalid_input("write: expect running [NAME] at TIME <=|>=|= NUMBER");
  expect.kind = Expectation::Kind::kRunning;
  if (at == 3) expect.name = words[2];
  expect.word = words[at + 2];
  const Result<Duration> time = parse_duration(words[at + 1]);
  if (!time) return time.error();
  expect.from = expect.to = *time;
  const Result<std::uint32_t> count = parse_count("running", words[at + 3], 0, 1'000'000);
  if (!count) return count.error();
  expect.count = *count;
  return {};
}

Result<void> parse_about_one(const Words& words, Expectation& expect) {
  if (words[1] != "all") expect.name = words[1];
  const std::string& what = words[2];
  if (what == "starts" || what == "ends") return parse_starts_or_ends(words, expect);
  if (what == "attempts" && words.size() == 4) {
    const Result<std::uint32_t> count = parse_count("attempts", words[3], 0, 1'000'000);
    if (!count) return count.error();
    expect.kind = Expectation::Kind::kAttempts;
    expect.count = *count;
    return {};
  }
  if (what == "runs" && words.size() == 5 && words[3] == "on") {
    expect.kind = Expectation::Kind::kNode;
    expect.word = words[4];
    return {};
  }
  if (what == "refused" && words.size() == 3) {
    expect.kind = Expectation::Kind::kRefused;
    return {};
  }
  if (!contains(kStates, what) || words.size() != 3)
    return invalid_input("cannot expect '" + what + "'" + did_you_mean(what, kStates));
  expect.kind = Expectation::Kind::kState;
  expect.word = what;
  return {};
}

Result<Expectation> parse_expectation(const Words& words) {
  Expectation expect;
  for (const std::string& word : words) expect.text += (expect.text.empty() ? "" : " ") + word;
  if (words.size() < 3) return invalid_input("expect what?");
  Result<void> parsed;
  if (words[1] == "reason") {
    parsed = parse_reason(words, expect);
  } else if (words[1] == "running") {
    parsed = parse_running(words, expect);
  } else if (words[1] == "order") {
    expect.kind = Expectation::Kind::kOrder;
    expect.others.assign(words.begin() + 2, words.end());
  } else {
    parsed = parse_about_one(words, expect);
  }
  if (!parsed) return parsed.error();
  return expect;
}

Result<void> parse_line(const Words& words, int line, Scenario& scenario) {
  if (words[0] == "expect") {
    Result<Expectation> expect = parse_expectation(words);
    if (!expect) return expect.error();
    expect->line = line;
    scenario.expectations.push_back(std::move(*expect));
    return {};
  }
  Duration at;
  std::size_t first = 0;
  if (words[0] == "at") {
    if (words.size() < 3) return invalid_input("write: at TIME COMMAND");
    const Result<Duration> time = parse_duration(words[1]);
    if (!time) return time.error();
    at = *time;
    first = 2;
  } else if (words[0] != "node") {
    return invalid_input("'" + words[0] + "': a line begins with node, at or expect");
  }
  Result<ScenarioAction> action = parse_action(words, first);
  if (!action) return action.error();
  action->line = line;
  action->at = at;
  Result<std::vector<ScenarioAction>> all = repeated(std::move(*action));
  if (!all) return all.error();
  scenario.actions.insert(scenario.actions.end(), all->begin(), all->end());
  return {};
}

}  // namespace

Result<Scenario> parse_scenario(const std::string& file, std::string_view text) {
  Scenario scenario;
  scenario.file = file;
  int line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++line;
    const Words words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (const Result<void> parsed = parse_line(words, line, scenario); !parsed)
      return Error{parsed.error().code,
                   file + ":" + std::to_string(line) + ": " + parsed.error().message};
  }
  std::stable_sort(scenario.actions.begin(), scenario.actions.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return scenario;
}

}  // namespace tutti
