#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/render.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/http_client.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr Option kOptions[] = {
    {"reason", 0, Kind::kValue, "TEXT", "with drain: why, shown to those who wait", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr std::string_view kActions[] = {"ls", "drain", "resume"};
constexpr Example kExamples[] = {
    {"tutti nodes", "what there is and what is free"},
    {"tutti nodes drain box7 --reason 'new disk'", "no new work there"},
    {"tutti nodes resume box7", "work again"}};

int list(Session& session) {
  auto answer = session.client().request("GET", "/v1/nodes", {});
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
  } else {
    session.screen().out(render_nodes(node_views(*answer), session.screen()));
  }
  return kExitOk;
}

int set_state(Session& session, const Arguments& arguments, std::string_view state) {
  const std::string& name = arguments.words()[1];
  const json::object body{{"state", state}, {"reason", text_to_json(arguments.value("reason"))}};
  auto answer = session.client().request(
      "POST", fmt::format("/v1/nodes/{}/state", query_escape(name)), json::serialize(body));
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
  } else {
    session.screen().out(
        fmt::format("Node {} is {}.\n", printable(name), node_view(*answer).state));
  }
  return kExitOk;
}

int run(Session& session, const Arguments& arguments) {
  const auto& words = arguments.words();
  const std::string action = words.empty() ? "ls" : words[0];
  if (action == "ls") return list(session);
  if (action != "drain" && action != "resume") {
    return session.usage_error("unknown action " + shown(action) + did_you_mean(action, kActions));
  }
  if (words.size() < 2) return session.usage_error(action + " needs the name of a node");
  return set_state(session, arguments, action == "drain" ? "draining" : "up");
}

}  // namespace

const Verb kNodesVerb{.name = "nodes",
                      .aliases = kNoAliases,
                      .summary = "list nodes, or stop and resume giving them work",
                      .description =
                          "Lists the machines that run jobs and what is free of them. A node that "
                          "is drained finishes what it runs and gets nothing new.",
                      .usage = "[OPTIONS] [ls | drain NODE | resume NODE]",
                      .word_choices = "ls drain resume",
                      .tail = Tail::kWords,
                      .least_words = 0,
                      .most_words = 2,
                      .groups = kGroups,
                      .examples = kExamples,
                      .run = run};

}  // namespace tutti
