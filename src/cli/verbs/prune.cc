#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/views.h"
#include "core/model/prune_age.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr Option kOptions[] = {
    {"older-than",
     0,
     Kind::kValue,
     "TIME",
     "only jobs that ended longer ago than this (default 30d)",
     {}},
    {"dry-run", 0, Kind::kFlag, {}, "say what it would free, and change nothing", {}},
    {"yes", 'y', Kind::kFlag, {}, "do not ask", {}},
    {"quiet", 'q', Kind::kFlag, {}, "say nothing when it worked", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {
    {"tutti prune --dry-run", "what jobs that ended over 30 days ago take"},
    {"tutti prune -y --older-than 7d", "for cron: no question"},
    {"tutti prune --older-than 0 12-17", "these jobs, as soon as they have ended"}};

// What is asked of the daemon.
struct Wish {
  json::object body;
  Duration age;
};

// Jobs, and never single tasks of them: a job is forgotten as a whole.
Result<json::object> chosen_body(Client& client, const std::vector<std::string>& selectors) {
  json::array jobs;
  for (const std::string& selector : selectors) {
    auto chosen = choose(client, selector);
    if (!chosen) return chosen.error();
    if (chosen->all) return json::object{{"all", true}};
    for (const ChosenJob& job : chosen->jobs) {
      if (!job.labels.empty())
        return invalid_input(
            fmt::format("{}: a job is forgotten as a whole; name it without its "
                        "tasks, as {}",
                        selector, job.id));
      jobs.push_back(job.id);
    }
  }
  if (selectors.empty()) return json::object{{"all", true}};
  return json::object{{"jobs", std::move(jobs)}};
}

Result<Wish> wish_of(Session& session, const Arguments& arguments) {
  Wish wish{{}, kPruneAge};
  if (arguments.has("older-than") && arguments.value("older-than") == "0") {
    wish.age = Duration();
  } else if (arguments.has("older-than")) {
    const auto age = parse_duration(arguments.value("older-than"));
    if (!age) return of_field("older-than", age.error());
    wish.age = *age;
  }
  auto body = chosen_body(session.client(), arguments.words());
  if (!body) return body.error();
  wish.body = std::move(*body);
  // Up to whole seconds: not earlier than was said.
  wish.body["older_than_s"] = (wish.age.value + 999'999) / 1'000'000;
  return wish;
}

Result<json::value> ask(Session& session, const Wish& wish, bool dry_run) {
  return session.client().request("POST", dry_run ? "/v1/prune?dry_run=1" : "/v1/prune",
                                  json::serialize(wish.body));
}

std::uint64_t number_in(const json::value& answer, std::string_view key) {
  return static_cast<std::uint64_t>(integer_at(answer, key).value_or(0));
}

std::size_t jobs_in(const json::value& answer) {
  const auto* jobs = answer.as_object().if_contains("jobs");
  return jobs != nullptr && jobs->is_array() ? jobs->as_array().size() : 0;
}

bool is_nothing(const json::value& answer) {
  return jobs_in(answer) == 0 && number_in(answer, "files") == 0;
}

// "12 jobs (40 tasks) and 31 files (1.2 GB)".
std::string what_goes(const json::value& answer) {
  return fmt::format("{} ({}) and {} ({})", counted(jobs_in(answer), "job"),
                     counted(number_in(answer, "tasks"), "task"),
                     counted(number_in(answer, "files"), "file"),
                     bytes_text(static_cast<double>(number_in(answer, "bytes"))));
}

// Which of the chosen jobs stay, and why.
std::string what_stays(const json::value& answer, Duration age) {
  const auto* kept = answer.as_object().if_contains("kept");
  if (kept == nullptr || !kept->is_object()) return {};
  std::string text;
  const auto add = [&](std::string_view key, std::string_view one, const std::string& many) {
    const std::uint64_t count = number_in(*kept, key);
    if (count == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "Kept: " : ", ", counted(count, "job"),
                        count == 1 ? one : many);
  };
  add("unfinished", "that has not ended", "that have not ended");
  add("needed", "that a job which has not ended needs", "that jobs which have not ended need");
  const std::string recent = "that ended in the last " + format_duration(age);
  add("recent", recent, recent);
  return text.empty() ? text : text + ".\n";
}

int tell(Session& session, const json::value& answer, const Wish& wish, bool dry_run) {
  if (session.json()) {
    print_json(session.screen(), answer);
    return kExitOk;
  }
  const std::string done = dry_run ? "Would forget " : "Forgot ";
  session.screen().out(is_nothing(answer) ? "Nothing to forget.\n"
                                          : done + what_goes(answer) + ".\n");
  session.screen().out(what_stays(answer, wish.age));
  return kExitOk;
}

// Whether it may go on, now that it is known what it would do.
Result<bool> confirmed(Session& session, const json::value& answer, const Wish& wish) {
  if (!session.screen().in_is_terminal() || session.json())
    return invalid_input(
        "this forgets jobs and removes their output for ever; say so with -y, or see with "
        "--dry-run what goes");
  session.screen().err(what_stays(answer, wish.age));
  const std::string reply =
      session.screen().ask(fmt::format("Forget {} for ever? [y/N] ", what_goes(answer)));
  return reply == "y" || reply == "Y" || reply == "yes";
}

int run(Session& session, const Arguments& arguments) {
  const auto wish = wish_of(session, arguments);
  if (!wish) return session.refuse(wish.error());
  const bool dry_run = arguments.has("dry-run");
  if (dry_run || !arguments.has("yes")) {
    const auto answer = ask(session, *wish, true);
    if (!answer) return session.fail(answer.error());
    if (dry_run) return tell(session, *answer, *wish, true);
    if (is_nothing(*answer))
      return arguments.has("quiet") ? kExitOk : tell(session, *answer, *wish, false);
    const auto go_on = confirmed(session, *answer, *wish);
    if (!go_on) return session.usage_error(go_on.error());
    if (!*go_on) {
      session.screen().err("Nothing was forgotten.\n");
      return kExitFailure;
    }
  }
  const auto answer = ask(session, *wish, false);
  if (!answer) return session.fail(answer.error());
  if (const std::uint64_t stuck = number_in(*answer, "stuck_files"); stuck > 0)
    session.screen().err(fmt::format(
        "tutti prune: {} could not be removed: look for files of another user in logs/, work/ and "
        "snapshots/ of the home\n",
        counted(stuck, "file")));
  return arguments.has("quiet") && !session.json() ? kExitOk : tell(session, *answer, *wish, false);
}

}  // namespace

const Verb kPruneVerb{
    .name = "prune",
    .aliases = kNoAliases,
    .summary = "forget finished jobs, and free what they take",
    .description =
        "Forgets jobs that ended long ago, with their output in the home, their copies of work "
        "directories, and the snapshots that no other job needs. JOBS limits it to these; without, "
        "all are meant. Kept are jobs that have not ended, jobs that one of those starts after, "
        "and files that --output put elsewhere; also what was learnt: profiles, speeds and fair "
        "shares. Numbers of jobs are not used again.",
    .usage = "[OPTIONS] [JOBS...]",
    .word_choices = "<job>",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = 1000,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
