#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/home.h"
#include "cli/arguments.h"
#include "cli/health.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/autostart.h"
#include "client/endpoint.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr OptionGroup kGroups[] = {{"Options", kJsonAndHelp}};
constexpr Example kExamples[] = {{"tutti doctor", "is everything in order here?"}};

Style style_of(Finding::Level level) {
  if (level == Finding::Level::kOk) return Style::kGreen;
  return level == Finding::Level::kWarn ? Style::kYellow : Style::kRed;
}

// Why there is no answer from this machine's daemon, or that none runs.
std::vector<Finding> check_silence(Session& session, const Endpoint& endpoint, const Error& silence,
                                   bool home_works) {
  const std::string& home = endpoint.home;
  if (const auto lost = lost_socket(endpoint)) return check_daemon(*lost, session.now());
  if (connect_to(endpoint)) return check_daemon(silence, session.now());
  // Nothing can be found out about a database without writing beside it.
  if (!home_works)
    return {{Finding::Level::kFail, "daemon", "not running; it cannot start in such a home"}};
  const auto check = session.entries().check_database;
  return check_no_daemon(home, check != nullptr ? check(home) : Result<void>());
}

std::vector<Finding> examine(Session& session) {
  std::vector<Finding> findings{{Finding::Level::kOk, "program", "tutti " TUTTI_VERSION}};
  const auto add = [&findings](std::vector<Finding> more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  auto home = home_folder();
  if (!home) {
    findings.push_back({Finding::Level::kFail, "home", home.error().message});
    return findings;
  }
  add(check_home(*home));
  const bool home_works = findings[1].level != Finding::Level::kFail;
  const auto endpoint = find_endpoint(*home);
  const bool here = endpoint && endpoint->local();
  if (here) add(check_socket(*home));
  auto answer = session.running_client().request("GET", "/v1/status", {});
  const Result<StatusView> status =
      answer ? Result<StatusView>(status_view(*answer)) : Result<StatusView>(answer.error());
  if (!status && status.error().code == ErrorCode::kUnavailable && here) {
    add(check_silence(session, *endpoint, status.error(), home_works));
  } else {
    add(check_daemon(status, session.now()));
  }
  if (here) add(check_keeper(*home));
  // Without a daemon nobody has looked for any; the line above says so.
  if (status) {
    auto gpus = session.running_client().request("GET", "/v1/gpus", {});
    findings.push_back(check_gpus(gpus ? Result<GpusView>(gpus_view(*gpus)) : gpus.error()));
  }
  add(check_containers());
  add(check_clock(*home, session.now()));
  add(check_system(here ? daemon_pid(*home) : 0));
  return findings;
}

int run(Session& session, const Arguments&) {
  bool failed = false;
  json::array list;
  for (const Finding& finding : examine(session)) {
    failed = failed || finding.level == Finding::Level::kFail;
    const char* level = level_name(finding.level);
    if (session.json()) {
      list.push_back(json::object{
          {"level", level}, {"name", finding.name}, {"detail", printable(finding.detail)}});
      continue;
    }
    session.screen().out(
        session.screen().styled(style_of(finding.level), fmt::format("{:<5}", level)) +
        fmt::format("{}: {}\n", finding.name, printable(finding.detail)));
  }
  if (session.json()) {
    print_json(session.screen(), json::object{{"ok", !failed}, {"checks", std::move(list)}});
  }
  return failed ? kExitFailure : kExitOk;
}

}  // namespace

const Verb kDoctorVerb{.name = "doctor",
                       .aliases = kNoAliases,
                       .summary = "check that everything is in order",
                       .description =
                           "Looks at the home folder, the disk, the daemon, its socket, limits and "
                           "GPUs, container runtimes, the clock and the system, and says what to "
                           "do about what is wrong. "
                           "Exits with 1 when something is.",
                       .usage = "[OPTIONS]",
                       .word_choices = {},
                       .tail = Tail::kWords,
                       .least_words = 0,
                       .most_words = 0,
                       .groups = kGroups,
                       .examples = kExamples,
                       .run = run};

}  // namespace tutti
