#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/plan.h"
#include "cli/output/profiles.h"
#include "cli/output/text.h"
#include "cli/read_text.h"
#include "cli/session.h"
#include "cli/speeds.h"
#include "cli/unknown_word.h"
#include "cli/verbs/profile_run.h"
#include "cli/verbs/verbs.h"
#include "client/gpu_views.h"
#include "client/http_client.h"
#include "core/spec/text.h"
#include "core/speed/speed_estimator.h"
#include "core/speed/speed_text.h"
#include "wire/speed_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kVersion = 1;
constexpr std::size_t kLargestFile = std::size_t{64} << 20;

constexpr Option kOptions[] = {
    {"speeds",
     0,
     Kind::kFlag,
     {},
     "ls, export, forget: speeds of models, and not what was learnt of kinds",
     {}},
    {"csv", 0, Kind::kFlag, {}, "export --speeds as CSV (also for a FILE that ends in .csv)", {}},
    kJsonOption,
    kHelpOption,
};
constexpr Option kRunOptions[] = {
    {"hardware", 'x', Kind::kValue, "N_TYPE", "nodes and type of GPU: 1_A100", {}},
    {"nodes", 'n', Kind::kValue, "N", "nodes (default: those of -x)", {}},
    {"devices", 'd', Kind::kValue, "N", "GPUs on each node (default 1)", {}},
    {"model", 'm', Kind::kValue, "NAME", "the model, such as bert", {}},
    {"params", 'p', Kind::kValue, "SIZE", "its parameters: 1.3B, 760M", {}},
    {"batch", 'b', Kind::kValue, "N", "samples of one iteration, over all GPUs", {}},
    {"layers", 'l', Kind::kValue, "N", "layers that are planned together", {}},
    {"micro-batches", 'c', Kind::kValue, "N", "micro-batches of an iteration", {}},
    {"stages", 0, Kind::kValue, "N", "pipeline stages (default: as the command likes)", {}},
    {"dataset", 's', Kind::kValue, "NAME", "data set (default none)", {}},
    {"iterations", 'e', Kind::kValue, "N", "how many the command is to run", {}},
    {"try", 'i', Kind::kValue, "N", "number of this try (default 0)", {}},
    {"job", 'j', Kind::kValue, "NAME", "name of the job", {}},
    {"ray-address", 'r', Kind::kValue, "HOST:PORT", "RAY_ADDRESS for the command", {}},
    {"data-parallel", 'o', Kind::kFlag, {}, "data parallel only", {}},
    {"pipeline", 'f', Kind::kFlag, {}, "pipeline parallel only", {}},
    {"tensor", 'g', Kind::kFlag, {}, "tensor parallel only", {}},
    {"manual", 'a', Kind::kFlag, {}, "a plan that was made by hand", {}},
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}, {"Run", kRunOptions}};
constexpr std::string_view kActions[] = {"ls",     "show",  "forget", "export",
                                         "import", "check", "run"};
constexpr Example kExamples[] = {
    {"tutti profile ls", "what is known of each kind of job"},
    {"tutti profile show train.py", "what the next run of it will reserve"},
    {"tutti profile forget train.py", "measure it anew, after it was changed"},
    {"tutti profile export | ssh box tutti profile import -",
     "what was learnt, for another machine"},
    {"tutti profile run -x 1_A100 -d 4 -m bert -p 1.3B -b 128 -- python train.py",
     "measure how long an iteration takes"},
    {"tutti profile import prof_database.json", "speeds that others measured"},
    {"tutti profile check prof_database.json", "how good estimates from them are"},
};

std::string path_of(const std::string& kind) {
  return "/v1/profiles/" + query_escape(kind);
}

int list(Session& session) {
  auto answer = session.client().request("GET", "/v1/profiles", {});
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
    return kExitOk;
  }
  const std::vector<ProfileView> profiles = profile_views(*answer);
  session.screen().out(profiles.empty() ? "No profiles: nothing was measured yet.\n"
                                        : render_profiles(profiles, session.screen()));
  return kExitOk;
}

int show(Session& session, const std::string& kind) {
  auto answer = session.client().request("GET", path_of(kind), {});
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
  } else {
    session.screen().out(render_profile(profile_view(*answer), session.screen()));
  }
  return kExitOk;
}

int forget(Session& session, const std::vector<std::string>& kinds) {
  json::array forgotten;
  for (const std::string& kind : kinds) {
    auto answer = session.client().request("DELETE", path_of(kind), {});
    if (!answer) return session.fail(answer.error());
    forgotten.push_back(text_to_json(kind));
    if (!session.json()) session.screen().out("Forgot " + printable(kind) + ".\n");
  }
  if (session.json()) {
    print_json(session.screen(), json::object{{"forgotten", std::move(forgotten)}});
  }
  return kExitOk;
}

Result<void> write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return io_error("cannot write " + shown(path), errno);
  return {};
}

int export_to(Session& session, const std::string& path) {
  auto answer = session.client().request("GET", "/v1/profiles", {});
  if (!answer) return session.fail(answer.error());
  auto* found = answer->is_object() ? answer->as_object().if_contains("profiles") : nullptr;
  if (found == nullptr || !found->is_array()) {
    return session.fail({ErrorCode::kUnsupported, "the daemon's answer has no profiles in it"});
  }
  const std::size_t count = found->as_array().size();
  const json::object document{{"version", kVersion}, {"profiles", std::move(*found)}};
  if (path == "-") {
    if (session.json()) {
      print_json(session.screen(), document);
    } else {
      session.screen().out(json_text(document) + "\n");
    }
    return kExitOk;
  }
  if (auto written = write_text(path, json_text(document) + "\n"); !written) {
    return session.fail(written.error());
  }
  if (session.json()) {
    print_json(session.screen(), json::object{{"exported", count}, {"file", text_to_json(path)}});
  } else {
    session.screen().out(
        fmt::format("Exported {} to {}.\n", counted(count, "profile"), printable(path)));
  }
  return kExitOk;
}

// Speeds as a file or on stdout: JSON, or CSV if that is wanted.
int export_speeds(Session& session, const std::string& path, bool csv) {
  const auto speeds = speeds_of_daemon(session);
  if (!speeds) return session.fail(speeds.error());
  const std::string text =
      csv || path.ends_with(".csv") ? speed_csv(*speeds) : speeds_text(*speeds);
  if (path == "-") {
    session.screen().out(text);
    return kExitOk;
  }
  if (auto written = write_text(path, text); !written) return session.fail(written.error());
  if (session.json()) {
    print_json(session.screen(),
               json::object{{"exported", speeds->size()}, {"file", text_to_json(path)}});
  } else {
    session.screen().out(
        fmt::format("Exported {} to {}.\n", counted(speeds->size(), "speed"), printable(path)));
  }
  return kExitOk;
}

int list_speeds(Session& session) {
  const auto speeds = speeds_of_daemon(session);
  if (!speeds) return session.fail(speeds.error());
  if (session.json()) {
    print_json(session.screen(), speeds_to_json(*speeds));
  } else {
    session.screen().out(speeds->empty() ? "No speeds: nothing was measured or imported yet.\n"
                                         : render_speeds(*speeds, session.screen()));
  }
  return kExitOk;
}

int forget_speeds(Session& session, const std::vector<std::string>& models) {
  std::uint64_t cells = 0;
  for (const std::string& model : models) {
    const auto answer = session.client().request("DELETE", "/v1/speeds/" + query_escape(model), {});
    if (!answer) return session.fail(answer.error());
    cells += static_cast<std::uint64_t>(integer_at(*answer, "forgotten").value_or(0));
  }
  if (session.json())
    print_json(session.screen(), json::object{{"forgotten", cells}});
  else
    session.screen().out(fmt::format("Forgot {}.\n", counted(cells, "speed")));
  return kExitOk;
}

int check_speeds_of(Session& session, const std::string& path) {
  const auto speeds = path.empty() ? speeds_of_daemon(session) : speeds_of_file(path);
  if (!speeds) return session.refuse(speeds.error());
  const std::vector<SpeedCheck> checks = check_speeds(*speeds);
  const SpeedCheck sizes = check_new_sizes(*speeds);
  if (session.json())
    print_json(session.screen(), checks_to_json(checks, sizes));
  else
    session.screen().out(render_checks(checks, sizes, session.screen()));
  return kExitOk;
}

int import_speeds(Session& session, const SpeedTable& speeds) {
  auto answer = session.client().request("POST", "/v1/speeds", json_text(speeds_to_json(speeds)));
  if (!answer) return session.fail(answer.error());
  if (session.json())
    print_json(session.screen(), json::object{{"imported", speeds.size()}});
  else
    session.screen().out(fmt::format("Imported {}.\n", counted(speeds.size(), "speed")));
  return kExitOk;
}

// The profiles of an exported file. What they say is the daemon's to check.
Result<json::array> read_profiles(const std::string& path, const std::string& text) {
  auto value = parse_json(text);
  if (!value) return invalid_input(shown(path) + ": " + value.error().message);
  const auto version = integer_at(*value, "version");
  auto* profiles = value->is_object() ? value->as_object().if_contains("profiles") : nullptr;
  if (!version || profiles == nullptr || !profiles->is_array()) {
    return invalid_input(shown(path) +
                         " is no file of profiles; 'tutti profile export' writes such files");
  }
  if (*version != kVersion) {
    return invalid_input(fmt::format("{} has version {}, this program reads version {}; upgrade it",
                                     shown(path), *version, kVersion));
  }
  return std::move(profiles->as_array());
}

// Profiles are JSON whatever their file is called, and CSV has no braces.
bool is_csv(const std::string& path, const std::string& text) {
  return path.ends_with(".csv") && text.find('{') == text.npos;
}

int import_from(Session& session, const std::string& path) {
  const auto text = read_text(path, kLargestFile);
  if (!text) return session.refuse(text.error());
  if (text->find_first_not_of(" \t\r\n") == text->npos)
    return session.refuse(invalid_input(shown(path) + " is empty"));
  if (looks_like_speeds(*text) || is_csv(path, *text)) {
    const auto speeds = speeds_of_text(path, *text);
    return speeds ? import_speeds(session, *speeds) : session.refuse(speeds.error());
  }
  auto profiles = read_profiles(path, *text);
  if (!profiles) return session.refuse(profiles.error());
  const std::size_t count = profiles->size();
  const json::object document{{"version", kVersion}, {"profiles", std::move(*profiles)}};
  auto answer = session.client().request("POST", "/v1/profiles", json_text(document));
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), json::object{{"imported", count}});
  } else {
    session.screen().out(fmt::format("Imported {}.\n", counted(count, "profile")));
  }
  return kExitOk;
}

int run(Session& session, const Arguments& arguments) {
  const auto& words = arguments.words();
  const std::string action = words.empty() ? "ls" : words[0];
  const std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  const bool is_known =
      std::find(std::begin(kActions), std::end(kActions), action) != std::end(kActions);
  if (!is_known) {
    return session.usage_error(unknown_word("action", action, kActions));
  }
  if (action == "run") return profile_run(session, arguments, rest);
  const bool needs_word = action != "ls" && action != "export" && action != "check";
  if (needs_word && rest.empty()) {
    return session.usage_error(action + (action == "import"        ? " needs a file"
                                         : arguments.has("speeds") ? " needs a model"
                                                                   : " needs a kind"));
  }
  const std::size_t most = action == "ls" ? 0 : action == "forget" ? SIZE_MAX : 1;
  if (rest.size() > most) {
    return session.usage_error(shown(rest[most]) + " is too much for 'profile " + action + "'");
  }
  if (action == "check") return check_speeds_of(session, rest.empty() ? "" : rest[0]);
  if (arguments.has("speeds")) {
    if (action == "ls") return list_speeds(session);
    if (action == "forget") return forget_speeds(session, rest);
    if (action == "export")
      return export_speeds(session, rest.empty() ? "-" : rest[0], arguments.has("csv"));
    return session.usage_error("--speeds is for ls, forget and export");
  }
  if (action == "show") return show(session, rest[0]);
  if (action == "forget") return forget(session, rest);
  if (action == "export") return export_to(session, rest.empty() ? "-" : rest[0]);
  if (action == "import") return import_from(session, rest[0]);
  return list(session);
}

}  // namespace

const Verb kProfileVerb{
    .name = "profile",
    .aliases = kNoAliases,
    .summary = "what was learnt of each kind of job",
    .description =
        "Every run of a job or lease is measured, and jobs of one kind (--kind; by default the "
        "script, and for leases the function in it) are expected to behave alike. What was "
        "measured "
        "decides how much GPU memory the next run reserves (NEED: the highest of the last peaks "
        "and a margin) and so with whom it shares a GPU.\n\n"
        "'forget' makes the next run measure anew. 'export' and 'import' carry profiles to another "
        "machine; import replaces those of the same kind. The file '-' is stdout or stdin.\n\n"
        "Speeds are kept beside that: how long an iteration of a model takes, by its size, its "
        "batch, the type of GPU and how many there are. 'run' submits the command as a job and "
        "takes the time from its output (lines such as 'iteration_time: 0.123', in seconds; "
        "median after warming up), 'import' reads a table of them (JSON or CSV), 'check' tells "
        "how good estimates are that rest on it: of FILE, or of the daemon's own. See also "
        "'tutti plan'.",
    .usage =
        "[OPTIONS] [ls | show KIND | forget KIND... | export [FILE] | import FILE | check "
        "[FILE] | run -x N_TYPE -m MODEL -p SIZE -b BATCH ... -- COMMAND]",
    .word_choices = "ls show forget export import check run",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = SIZE_MAX,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
