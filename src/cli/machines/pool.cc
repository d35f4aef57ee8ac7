#include "cli/machines/pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <map>

#include "cli/interrupt.h"
#include "client/http_client.h"

namespace tutti {
namespace {

namespace json = boost::json;
using SteadyClock = std::chrono::steady_clock;

// A first connection takes a third of a second; a host that drops packets, as long as ssh tries.
constexpr auto kJoinTime = std::chrono::seconds(30);
constexpr auto kMeasureTime = std::chrono::seconds(10);
constexpr int kAskAgainMs = 20;

const Error kInterrupted{ErrorCode::kUnavailable, "interrupted"};

std::string path_of(std::string_view name) {
  return "/v1/nodes/" + query_escape(name);
}

// Asks for the nodes until `enough` of them, the time is over, or Ctrl-C.
Result<json::value> nodes_when(Session& session, SteadyClock::duration most,
                               const std::function<bool(const json::value&)>& enough) {
  const auto deadline = SteadyClock::now() + most;
  Interrupt interrupt;
  while (true) {
    auto nodes = fetch_nodes(session);
    if (!nodes) return nodes;
    if (enough(*nodes) || SteadyClock::now() >= deadline) return nodes;
    pollfd ctrl_c{interrupt.fd(), POLLIN, 0};
    ::poll(&ctrl_c, 1, kAskAgainMs);
    if (interrupt.take()) return kInterrupted;
  }
}

bool is_connecting(const json::value* node) {
  if (node == nullptr) return false;
  const NodeView view = node_view(*node);
  return view.state == "down" && view.reason.starts_with("connecting");
}

// What became of a node that was added; nothing: it can be used.
std::optional<Error> trouble_of(const json::value* node) {
  if (node == nullptr) return not_found("was removed meanwhile");
  const NodeView view = node_view(*node);
  if (view.state != "down") return std::nullopt;
  if (is_connecting(node)) return Error{ErrorCode::kTimeout, "no answer in 30 s"};
  return Error{ErrorCode::kUnavailable, view.reason.empty() ? "is down" : view.reason};
}

void leave(Session& session, const std::string& name) {
  auto gone = session.client().request("DELETE", path_of(name) + "?force=true", {});
  if (gone || gone.error().code == ErrorCode::kNotFound) return;
  session.screen().err(
      fmt::format("tutti: node {} stays, out of use: {}\n", name, gone.error().message));
}

}  // namespace

Result<json::value> fetch_nodes(Session& session) {
  return session.client().request("GET", "/v1/nodes", {});
}

const json::value* find_node(const json::value& nodes, std::string_view name) {
  const auto* object = nodes.if_object();
  const auto* list = object == nullptr ? nullptr : object->if_contains("nodes");
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const json::value& node : list->as_array()) {
    if (text_at(node, "name") == name) return &node;
  }
  return nullptr;
}

Result<std::vector<Joined>> join_machines(Session& session,
                                          const std::vector<json::object>& requests, bool keep) {
  std::vector<Joined> joined;
  for (const json::object& request : requests) {
    Joined one{text_at(request, "name"), std::nullopt, {}};
    auto answer = session.client().request("POST", "/v1/nodes", json::serialize(request));
    if (!answer) one.error = answer.error();
    if (answer) one.node = *std::move(answer);
    joined.push_back(std::move(one));
  }
  const auto settled = [&](const json::value& nodes) {
    return std::none_of(joined.begin(), joined.end(), [&](const Joined& one) {
      return !one.error && is_connecting(find_node(nodes, one.name));
    });
  };
  auto nodes = nodes_when(session, kJoinTime, settled);
  for (Joined& one : joined) {
    if (one.error) continue;
    const json::value* node = nodes ? find_node(*nodes, one.name) : nullptr;
    one.error = nodes ? trouble_of(node) : nodes.error();
    if (node != nullptr) one.node = *node;
    if (one.error && !keep) leave(session, one.name);
  }
  if (!nodes) return nodes.error();
  return joined;
}

Result<json::value> measure_nodes(Session& session, const std::vector<std::string>& names) {
  auto before = fetch_nodes(session);
  if (!before) return before;
  std::map<std::string, TimePoint> measured;
  for (const std::string& name : names) {
    const json::value* node = find_node(*before, name);
    if (node == nullptr) return not_found(fmt::format("there is no node '{}'", name));
    auto asked = session.client().request("POST", path_of(name) + "/check", {});
    if (!asked) return asked;
    measured[name] = node_view(*node).measured_at;
  }
  return nodes_when(session, kMeasureTime, [&](const json::value& nodes) {
    return std::all_of(measured.begin(), measured.end(), [&](const auto& entry) {
      const json::value* node = find_node(nodes, entry.first);
      if (node == nullptr) return true;
      const NodeView view = node_view(*node);
      return view.state == "down" ? !is_connecting(node) : view.measured_at != entry.second;
    });
  });
}

}  // namespace tutti
