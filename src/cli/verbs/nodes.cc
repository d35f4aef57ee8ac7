#include "cli/output/nodes.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/machines/pool.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/unknown_word.h"
#include "cli/verbs/add_nodes.h"
#include "cli/verbs/verbs.h"
#include "client/http_client.h"
#include "core/spec/machine.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMostJobs = 1'000'000;

constexpr Option kOptions[] = {
    {"reason", 0, Kind::kValue, "TEXT", "with drain: why, shown to those who wait", {}},
    {"force", 0, Kind::kFlag, {}, "with rm: even while jobs run there; they are lost", {}},
    {"quiet",
     'q',
     Kind::kFlag,
     {},
     "print only names, of one node its state, and nothing of changes",
     {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions},
                                   {"With add (--max-jobs also with limit)", kAddOptions}};
constexpr std::string_view kActions[] = {"ls",    "add",    "show",  "check",
                                         "drain", "resume", "limit", "rm"};
constexpr Example kExamples[] = {
    {"tutti nodes", "what there is and what is free"},
    {"tutti nodes add ada@box1 'gpu[01-16].lab' --label lab", "machines that ssh reaches"},
    {"tutti nodes add machine.yaml --max-jobs 4", "one from a machine file"},
    {"tutti nodes check box1", "measure it now"},
    {"tutti nodes drain box7 --reason 'new disk'", "no new work there"},
    {"tutti nodes resume box7", "work again"},
    {"tutti nodes limit box7 --max-jobs 4", "never more than four jobs at once; 0: no limit"},
    {"tutti nodes rm box7", "forget it"}};

std::string path_of(const std::string& name) {
  return "/v1/nodes/" + query_escape(name);
}

int list(Session& session, bool quiet) {
  auto answer = fetch_nodes(session);
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
  } else if (quiet) {
    for (const NodeView& node : node_views(*answer))
      session.screen().out(printable(node.name) + "\n");
  } else {
    session.screen().out(render_nodes(node_views(*answer), session.screen(), session.now()));
  }
  return kExitOk;
}

int print_node(Session& session, const json::value& nodes, const std::string& name, bool quiet) {
  const json::value* node = find_node(nodes, name);
  if (node == nullptr) return session.fail(not_found("there is no node " + shown(name)));
  if (session.json()) {
    print_json(session.screen(), *node);
  } else if (quiet) {
    session.screen().out(node_view(*node).state + "\n");
  } else {
    session.screen().out(render_node(node_view(*node), session.screen(), session.now()));
  }
  return kExitOk;
}

int show(Session& session, const std::string& name, bool quiet) {
  auto nodes = fetch_nodes(session);
  if (!nodes) return session.fail(nodes.error());
  return print_node(session, *nodes, name, quiet);
}

int check(Session& session, const std::string& name, bool quiet) {
  auto nodes = measure_nodes(session, {name});
  if (!nodes) return session.fail(nodes.error());
  const int status = print_node(session, *nodes, name, quiet);
  if (status != kExitOk) return status;
  return node_view(*find_node(*nodes, name)).state == "down" ? kExitFailure : kExitOk;
}

int remove(Session& session, const Arguments& arguments) {
  const std::string query = arguments.has("force") ? "?force=true" : "";
  json::array removed;
  for (std::size_t i = 1; i < arguments.words().size(); ++i) {
    const std::string& name = arguments.words()[i];
    auto answer = session.client().request("DELETE", path_of(name) + query, {});
    if (!answer) return session.fail(answer.error());
    removed.push_back(text_to_json(name));
    if (!session.json() && !arguments.has("quiet"))
      session.screen().out("Removed node " + printable(name) + ".\n");
  }
  if (session.json()) {
    print_json(session.screen(), json::object{{"removed", std::move(removed)}});
  }
  return kExitOk;
}

int set_state(Session& session, const Arguments& arguments, std::string_view state) {
  const std::string& name = arguments.words()[1];
  const json::object body{{"state", state}, {"reason", text_to_json(arguments.value("reason"))}};
  auto answer = session.client().request("POST", path_of(name) + "/state", json::serialize(body));
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
  } else if (!arguments.has("quiet")) {
    session.screen().out(
        fmt::format("Node {} is {}.\n", printable(name), node_view(*answer).state));
  }
  return kExitOk;
}

int set_limit(Session& session, const Arguments& arguments) {
  const std::string& name = arguments.words()[1];
  const auto most = parse_count("max-jobs", arguments.value("max-jobs"), 0, kMostJobs);
  if (!most) return session.usage_error(most.error());
  auto answer = session.client().request("POST", path_of(name) + "/limit",
                                         json::serialize(json::object{{"max_jobs", *most}}));
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
  } else if (!arguments.has("quiet")) {
    session.screen().out(*most == 0
                             ? fmt::format("Node {} runs as many jobs as fit.\n", printable(name))
                             : fmt::format("Node {} runs at most {} at once.\n", printable(name),
                                           counted(*most, "job")));
  }
  return kExitOk;
}

int run_with_names(Session& session, const Arguments& arguments, const std::string& action) {
  const auto& words = arguments.words();
  if (words.size() < 2) {
    return session.usage_error(action + (action == "add" ? " needs the address of a machine"
                                                         : " needs the name of a node"));
  }
  if (action == "add") return add_nodes(session, arguments);
  if (action == "rm") return remove(session, arguments);
  if (words.size() > 2) return session.usage_error(action + " takes one node");
  if (action == "show") return show(session, words[1], arguments.has("quiet"));
  if (action == "check") return check(session, words[1], arguments.has("quiet"));
  if (action == "limit") return set_limit(session, arguments);
  return set_state(session, arguments, action == "drain" ? "draining" : "up");
}

int run(Session& session, const Arguments& arguments) {
  const auto& words = arguments.words();
  const std::string action = words.empty() ? "ls" : words[0];
  if (action == "ls" && words.size() > 1) return session.usage_error("ls takes no further words");
  if (action == "ls") return list(session, arguments.has("quiet"));
  if (std::find(std::begin(kActions), std::end(kActions), action) == std::end(kActions)) {
    return session.usage_error(unknown_word("action", action, kActions));
  }
  return run_with_names(session, arguments, action);
}

}  // namespace

const Verb kNodesVerb{
    .name = "nodes",
    .aliases = kNoAliases,
    .summary = "list nodes, add machines over SSH, stop and resume giving them work",
    .description =
        "Lists the machines that run jobs and what is free of them. A node that is drained "
        "finishes what it runs and gets nothing new.\n"
        "\n"
        "add takes what ssh takes: user@host:port, aliases of ~/.ssh/config, patterns such as "
        "box[01-16], and machine files with username, ip, port and ssh_key_path. Nothing is "
        "installed there: an SSH server, a POSIX shell and tar are enough, and a login that asks "
        "nothing. It waits until the machine was reached and says what it found; a machine that "
        "cannot be reached is not kept. Jobs run there only with --on.",
    .usage =
        "[OPTIONS] [ls | add ADDRESS... | show NODE | check NODE | drain NODE | resume NODE "
        "| limit NODE | rm NODE...]",
    .word_choices = "ls add show check drain resume limit rm",
    .later_choices = "<node>",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = kMaxMachines + 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
