#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/home.h"
#include "base/process_stat.h"
#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/unknown_word.h"
#include "cli/verbs/verbs.h"
#include "client/autostart.h"
#include "client/endpoint.h"
#include "client/views.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kStopMs = 30'000;

constexpr Option kOptions[] = {
    {"slots", 0, Kind::kValue, "N", "use at most N cores (default: all of the machine)", {}},
    {"mem", 0, Kind::kValue, "SIZE", "use at most this much memory (default: all)", {}},
    {"ports", 0, Kind::kValue, "A-B", "TCP ports that workers may be granted (20000-29999)", {}},
    {"listen", 0, Kind::kValue, "HOST:PORT", "listen there too; clients need the token", {}},
    {"token", 0, Kind::kValue, "FILE", "file with the token for --listen (default: HOME/token)",
     "<file>"},
    {"tls-cert", 0, Kind::kValue, "FILE", "certificate for --listen", "<file>"},
    {"tls-key", 0, Kind::kValue, "FILE", "key of the certificate", "<file>"},
    {"emulate-gpus", 0, Kind::kValue, "SPEC", "pretend to have these GPUs, such as 4xA100-80G", {}},
    {"home", 0, Kind::kValue, "FOLDER", "instead of $TUTTI_HOME", "<folder>"},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr std::string_view kActions[] = {"start", "stop", "status", "restart", "run"};
constexpr Example kExamples[] = {
    {"tutti daemon start --slots 4", "start it with four cores"},
    {"tutti daemon status --json", "its pid, version, home and more"},
    {"tutti daemon --slots 4", "the same"},
    {"tutti daemon restart --emulate-gpus 4xA100-80G", "try GPU sharing without a GPU"},
    {"tutti daemon restart", "after an upgrade; jobs go on meanwhile"},
};

Result<DaemonArguments> daemon_arguments(const Arguments& arguments, std::string home) {
  DaemonArguments out;
  out.home = std::move(home);
  if (arguments.has("slots")) {
    auto slots = parse_cpus(arguments.value("slots"));
    if (!slots) return of_field("slots", slots.error());
    out.slots = static_cast<double>(slots->value) / 1000;
  }
  if (arguments.has("mem")) {
    auto memory = parse_memory(arguments.value("mem"));
    if (!memory) return of_field("mem", memory.error());
    out.memory_mib = memory->value;
  }
  if (arguments.has("ports")) {
    auto ports = parse_port_range(arguments.value("ports"));
    if (!ports) return ports.error();
    out.ports = *ports;
  }
  out.listen = arguments.value("listen");
  if (!out.listen.empty() && out.listen.find(':') == std::string::npos) {
    return invalid_input("listen: " + shown(out.listen) + " is not of the form HOST:PORT");
  }
  out.emulate_gpus = arguments.value("emulate-gpus");
  // What it says is the daemon's to understand, but it must survive being remembered on a line.
  if (arguments.has("emulate-gpus") &&
      (out.emulate_gpus.empty() || first_control_character(out.emulate_gpus))) {
    return invalid_input("emulate-gpus: " + shown(out.emulate_gpus) +
                         " names no GPUs; write for instance 4xA100-80G");
  }
  out.token_path = arguments.value("token");
  out.tls_certificate = arguments.value("tls-cert");
  out.tls_key = arguments.value("tls-key");
  if (out.tls_certificate.empty() != out.tls_key.empty()) {
    return invalid_input("--tls-cert and --tls-key need each other");
  }
  return out;
}

// The options again, for the daemon's own command line. Its current folder is another one.
std::vector<std::string> passed_on(const Arguments& arguments) {
  std::vector<std::string> words;
  for (const char* option : {"slots", "mem", "ports", "listen", "emulate-gpus"}) {
    if (arguments.has(option))
      words.insert(words.end(), {"--" + std::string(option), arguments.value(option)});
  }
  for (const char* option : {"token", "tls-cert", "tls-key"}) {
    if (!arguments.has(option)) continue;
    const auto path = std::filesystem::absolute(arguments.value(option));
    words.insert(words.end(), {"--" + std::string(option), path.string()});
  }
  return words;
}

// The settings of the last start, but for those that are given now.
std::vector<std::string> merged(const std::vector<std::string>& remembered,
                                std::vector<std::string> given) {
  const std::size_t count = given.size();
  for (std::size_t i = 0; i + 1 < remembered.size(); i += 2) {
    const auto end = given.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(given.begin(), end, remembered[i]) != end) continue;
    given.insert(given.end(), {remembered[i], remembered[i + 1]});
  }
  return given;
}

// Whether the process was started with these settings, among others.
bool runs_with(std::int64_t pid, const std::vector<std::string>& settings) {
  const std::string line = '\0' + read_proc(pid, "cmdline", std::size_t{1} << 16);
  for (std::size_t i = 0; i + 1 < settings.size(); i += 2) {
    bool found = false;
    for (const char between : {'\0', '='}) {
      const std::string words = '\0' + settings[i] + between + settings[i + 1] + '\0';
      found = found || line.find(words) != std::string::npos;
    }
    if (!found) return false;
  }
  return true;
}

// Of one that runs and cannot be reached, the error says so: only where nobody listens none runs.
Result<json::value> ask_status(Session& session, const std::string& home) {
  auto answer = session.running_client().request("GET", "/v1/status", {});
  if (answer || answer.error().code != ErrorCode::kUnavailable) return answer;
  const auto endpoint = find_endpoint(home);
  if (!endpoint) return answer;
  if (const auto lost = lost_socket(*endpoint)) return *lost;
  // It refuses all connections but those that it has.
  const bool listens = endpoint->local() && connect_to(*endpoint);
  return listens ? Error{ErrorCode::kExhausted, answer.error().message} : answer.error();
}

Result<StatusView> status_of(Session& session, const std::string& home) {
  auto answer = ask_status(session, home);
  if (!answer) return answer.error();
  return status_view(*answer);
}

int say(Session& session, std::string_view text, json::object object) {
  if (session.json()) {
    print_json(session.screen(), std::move(object));
  } else {
    session.screen().out(std::string(text) + "\n");
  }
  return kExitOk;
}

// Only a daemon of this machine can be started from here.
constexpr const char* kElsewhere = "TUTTI_HOST names a daemon elsewhere; unset it";

bool is_elsewhere(const std::string& home) {
  const auto endpoint = find_endpoint(home);
  return endpoint && !endpoint->local();
}

int start(Session& session, const std::vector<std::string>& extra, const std::string& home) {
  auto endpoint = find_endpoint(home);
  if (!endpoint) return session.fail(endpoint.error());
  if (!endpoint->local()) return session.usage_error(kElsewhere);
  if (auto status = status_of(session, home)) {
    if (!runs_with(status->pid, extra)) {
      return session.fail(conflict(
          fmt::format("the daemon runs already (pid {}), with other settings; change them with "
                      "'tutti daemon restart', running jobs go on",
                      status->pid)));
    }
    return say(session, fmt::format("The daemon runs already (pid {}).", status->pid),
               {{"running", true}, {"started", false}, {"pid", status->pid}});
  }
  session.drop_client();
  auto started = start_daemon(*endpoint, own_program(), extra);
  if (!started) return session.fail(started.error());
  remember_arguments(home, extra);
  auto status = status_of(session, home);
  if (!status) return session.fail(status.error());
  return say(session, fmt::format("Started the daemon (pid {}).", status->pid),
             {{"running", true}, {"started", true}, {"pid", status->pid}});
}

// A zombie has ended too: in a container nobody may ever collect it. Its first thread may be one
// before the others are.
bool has_ended(std::int64_t pid) {
  namespace fs = std::filesystem;
  std::error_code gone;
  fs::directory_iterator thread(fmt::format("/proc/{}/task", pid), gone);
  for (; !gone && thread != fs::directory_iterator(); thread.increment(gone)) {
    std::ifstream file(thread->path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;
    const auto name_end = stat.rfind(") ");
    const bool over =
        name_end != std::string::npos && (stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X');
    if (!over) return false;
  }
  return true;
}

// Until the process is gone: only then may another take its place.
Result<void> wait_for_end(std::int64_t pid) {
  for (int waited = 0; waited < kStopMs; waited += 10) {
    if (pid <= 0 || has_ended(pid)) return {};
    ::poll(nullptr, 0, 10);
  }
  return Error{ErrorCode::kTimeout,
               fmt::format("the daemon (pid {}) was asked to stop but still runs", pid)};
}

Result<bool> stop_daemon(Session& session, const std::string& home) {
  auto status = status_of(session, home);
  const bool silent = !status && status.error().code == ErrorCode::kUnavailable;
  if (silent && !is_elsewhere(home)) return false;
  if (!status) return status.error();
  auto answer = session.running_client().request("POST", "/v1/daemon/stop", "{}");
  session.drop_client();
  if (!answer && answer.error().code != ErrorCode::kUnavailable) return answer.error();
  if (auto ended = wait_for_end(status->pid); !ended) return ended.error();
  return true;
}

int stop(Session& session, const std::string& home) {
  auto stopped = stop_daemon(session, home);
  if (!stopped) return session.fail(stopped.error());
  return say(session, *stopped ? "Stopped the daemon. Running jobs go on." : "No daemon runs.",
             {{"running", false}, {"stopped", *stopped}});
}

int print_status(Session& session, const std::string& home) {
  auto answer = ask_status(session, home);
  if (!answer && answer.error().code != ErrorCode::kUnavailable)
    return session.fail(answer.error());
  if (!answer && is_elsewhere(home)) return session.fail(answer.error());
  if (!answer) {
    say(session, "No daemon runs for " + printable(home) + ".",
        {{"running", false}, {"home", home}, {"socket", socket_path(home)}});
    return kExitFailure;
  }
  const StatusView status = status_view(*answer);
  const Duration up = session.now() - status.started_at;
  const auto endpoint = find_endpoint(home);
  const char* place = is_elsewhere(home) ? "host" : "socket";
  if (session.json()) {
    json::object& object = answer->as_object();
    object["running"] = true;
    object[place] = endpoint->name();
    object["uptime_s"] = static_cast<double>(up.value) / 1e6;
    print_json(session.screen(), object);
    return kExitOk;
  }
  const std::string listen =
      status.listen.empty() ? "" : "  listen  " + printable(status.listen) + "\n";
  session.screen().out(fmt::format(
      "The daemon runs (pid {}, version {}, up {}).\n  home    {}\n  {:<6}  {}\n{}  slots   {}\n"
      "  tasks   {} running, {} queued\n  limits  {}\n",
      status.pid, printable(status.version), format_duration(seconds(up.value / 1'000'000)),
      printable(status.home), place, endpoint->name(), listen, status.slots,
      grouped(status.running + status.starting), grouped(status.queued),
      printable(status.enforcement)));
  return kExitOk;
}

int restart(Session& session, const Arguments& arguments, const std::string& home) {
  const auto endpoint = find_endpoint(home);
  if (!endpoint) return session.fail(endpoint.error());
  if (!endpoint->local()) return session.usage_error(kElsewhere);
  auto stopped = stop_daemon(session, home);
  if (!stopped) return session.fail(stopped.error());
  const std::vector<std::string> before = remembered_arguments(home);
  const std::vector<std::string> now = merged(before, passed_on(arguments));
  const int status = start(session, now, home);
  if (status == kExitOk || now == before || !*stopped) return status;
  // Only the daemon knows whether it can start with new settings; those must not cost the old one.
  if (start_daemon(*endpoint, own_program(), before))
    session.screen().err("The daemon runs again, with the settings that it had before.\n");
  return status;
}

int run(Session& session, const Arguments& arguments) {
  if (arguments.words().empty() && passed_on(arguments).empty())
    return session.usage_error("something is missing: tutti daemon " +
                               std::string(kDaemonVerb.usage));
  const std::string action = arguments.words().empty() ? "start" : arguments.words()[0];
  auto home = home_folder(arguments.value("home"));
  if (!home) return session.fail(home.error());
  auto checked = daemon_arguments(arguments, *home);
  if (!checked) return session.usage_error(checked.error());
  // The client and a daemon started from here must mean the same home.
  ::setenv("TUTTI_HOME", home->c_str(), 1);
  if (action == "run") {
    if (session.entries().daemon_run == nullptr) {
      return session.fail({ErrorCode::kUnsupported, "this program has no daemon in it"});
    }
    return session.entries().daemon_run(*checked);
  }
  if (action == "start") return start(session, passed_on(arguments), *home);
  if (action == "stop") return stop(session, *home);
  if (action == "status") return print_status(session, *home);
  if (action == "restart") return restart(session, arguments, *home);
  return session.usage_error(unknown_word("action", action, kActions));
}

}  // namespace

const Verb kDaemonVerb{
    .name = "daemon",
    .aliases = kNoAliases,
    .summary = "start, stop or look at the daemon",
    .description =
        "The daemon starts by itself with the first job (unless TUTTI_NO_AUTOSTART is set), so "
        "that "
        "these are needed only for other settings or after an upgrade. Stopping it ends no job: "
        "running ones go on, queued ones wait for the next start. 'restart' keeps the settings of "
        "the last start, but for those that are given. 'run' stays in the foreground, for service "
        "managers. Options alone mean 'start'.",
    .usage = "[OPTIONS] start | stop | status | restart | run",
    .word_choices = "start stop status restart run",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
