#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/job_request.h"
#include "cli/output/json.h"
#include "cli/output/profiles.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/gpu_views.h"
#include "client/http_client.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kVersion = 1;
constexpr std::size_t kLargestFile = std::size_t{64} << 20;

constexpr OptionGroup kGroups[] = {{"Options", kJsonAndHelp}};
constexpr std::string_view kActions[] = {"ls", "show", "forget", "export", "import"};
constexpr Example kExamples[] = {
    {"tutti profile ls", "what is known of each kind of job"},
    {"tutti profile show train.py", "what the next run of it will reserve"},
    {"tutti profile forget train.py", "measure it anew, after it was changed"},
    {"tutti profile export | ssh box tutti profile import -",
     "what was learnt, for another machine"},
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

// The profiles of an exported file. What they say is the daemon's to check.
Result<json::array> read_profiles(const std::string& path) {
  auto text = read_text(path, kLargestFile);
  if (!text) return text.error();
  auto value = parse_json(*text);
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

int import_from(Session& session, const std::string& path) {
  auto profiles = read_profiles(path);
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
    return session.usage_error("unknown action " + shown(action) + did_you_mean(action, kActions));
  }
  const bool needs_word = action != "ls" && action != "export";
  if (needs_word && rest.empty()) {
    return session.usage_error(action + (action == "import" ? " needs a file" : " needs a kind"));
  }
  const std::size_t most = action == "ls" ? 0 : action == "forget" ? SIZE_MAX : 1;
  if (rest.size() > most) {
    return session.usage_error(shown(rest[most]) + " is too much for 'profile " + action + "'");
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
        "machine; import replaces those of the same kind. The file '-' is stdout or stdin.",
    .usage = "[OPTIONS] [ls | show KIND | forget KIND... | export [FILE] | import FILE]",
    .word_choices = "ls show forget export import",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = SIZE_MAX,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
