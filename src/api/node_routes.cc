#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/call.h"
#include "api/encode.h"
#include "control/node_monitor.h"
#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/node_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// The wanted state of a node and why.
struct WantedState {
  Node::State state = Node::State::kUp;
  std::string reason;
};

Result<WantedState> wanted_state(std::string_view body) {
  constexpr std::array<std::string_view, 2> kKeys = {"state", "reason"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a node's state", kKeys);
  if (!object) return object.error();
  WantedState wanted;
  const auto* state = (*object)->if_contains("state");
  const bool draining = state != nullptr && *state == "draining";
  if (state == nullptr || (!draining && *state != "up")) {
    return invalid_input("state must be \"up\" or \"draining\"");
  }
  if (draining) wanted.state = Node::State::kDraining;
  if (const auto* reason = (*object)->if_contains("reason")) {
    auto text = word_from_json(*reason, "reason");
    if (!text) return text.error();
    wanted.reason = std::move(*text);
  }
  return wanted;
}

}  // namespace

void get_status(const CallPtr& call) {
  const auto jobs = call->services.history.job_counts();
  if (!jobs) return call->fail(jobs.error());
  call->services.front.status(reply_to<Status>(call, [call, counts = *jobs](const Status& status) {
    call->respond(json_response(200, status_to_json(call->services.facts(), status, counts)));
  }));
}

void get_nodes(const CallPtr& call) {
  call->services.front.status(reply_to<Status>(call, [call](const Status& status) {
    json::array nodes;
    const NodeMonitor* machines = call->services.machines;
    for (const Node& node : status.nodes) {
      const auto measured = machines == nullptr ? std::nullopt : machines->latest(node.id);
      const auto copied =
          machines == nullptr ? std::vector<NodeTransfer>() : machines->transfers(node.id);
      nodes.push_back(node_to_json(node, measured ? &*measured : nullptr, copied));
    }
    call->respond(json_response(200, json::object{{"nodes", std::move(nodes)}}));
  }));
}

void set_node_state(const CallPtr& call) {
  auto wanted = wanted_state(call->request.body);
  if (!wanted) return call->fail(wanted.error());
  call->services.front.set_node_state(call->target.segments[2], wanted->state,
                                      std::move(wanted->reason),
                                      reply_to<Node>(call, [call](const Node& node) {
                                        call->respond(json_response(200, node_to_json(node)));
                                      }));
}

void add_node(const CallPtr& call) {
  auto node = node_from_json(call->request.body);
  if (!node) return call->fail(node.error());
  call->services.front.add_node(*std::move(node), reply_to<Node>(call, [call](const Node& added) {
    call->respond(json_response(201, node_to_json(added)));
  }));
}

void remove_node(const CallPtr& call) {
  if (auto known = call->target.allow_only({"force"}); !known) return call->fail(known.error());
  const auto force = query_flag(call->target, "force");
  if (!force) return call->fail(force.error());
  call->services.front.remove_node(call->target.segments[2], *force,
                                   reply_to<Node>(call, [call](const Node& node) {
                                     call->respond(json_response(200, node_to_json(node)));
                                   }));
}

void set_node_limit(const CallPtr& call) {
  const auto limit = node_limit_from_json(call->request.body);
  if (!limit) return call->fail(limit.error());
  call->services.front.set_node_limit(call->target.segments[2], *limit,
                                      reply_to<Node>(call, [call](const Node& node) {
                                        call->respond(json_response(200, node_to_json(node)));
                                      }));
}

void check_node(const CallPtr& call) {
  call->services.front.status(reply_to<Status>(call, [call](const Status& status) {
    const std::string& name = call->target.segments[2];
    const auto node = std::find_if(status.nodes.begin(), status.nodes.end(),
                                   [&](const Node& one) { return one.name == name; });
    if (node == status.nodes.end()) {
      return call->fail(not_found("there is no node " + shown(name)));
    }
    if (node->remote.address.empty() || call->services.machines == nullptr) {
      return call->fail(conflict(shown(name) + " is this machine; only others are checked"));
    }
    if (node->state != Node::State::kDown) {
      call->services.machines->measure_now(node->id);
      return call->respond(json_response(202, node_to_json(*node)));
    }
    // Whoever asks afterwards must not be told why it could not be reached before.
    call->services.front.set_node_state(name, Node::State::kDown, "connecting",
                                        reply_to<Node>(call, [call](const Node& tried) {
                                          call->respond(json_response(202, node_to_json(tried)));
                                        }));
  }));
}

void stop_daemon(const CallPtr& call) {
  call->respond(json_response(200, json::object()));
  if (call->services.stop_daemon) call->services.stop_daemon();
}

}  // namespace tutti
