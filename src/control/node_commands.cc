// What the controller makes of commands about nodes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/controller.h"

namespace tutti {
namespace {

Error no_such_node(const std::string& name) {
  return not_found(fmt::format("there is no node '{}'", name));
}

// Whether `node` is the one that is known, but for the key by which it is reached from now on.
bool has_new_key(const Node& known, const Node& node) {
  return known.remote.address == node.remote.address && !node.remote.key.empty() &&
         known.remote.key != node.remote.key;
}

}  // namespace

Result<Node> Controller::accept_node_state(const std::string& name, Node::State state,
                                           const std::string& reason) {
  const Node* node = ledger_.find_node(name);
  if (node == nullptr) return no_such_node(name);
  // Only one that is down is tried again.
  if (state == Node::State::kDown && node->state != state) return *node;
  if (node->state != state || node->state_reason != reason)
    record(NodeStateChanged{node->id, state, reason});
  // Whether it can be reached, only its executor knows.
  if (state != Node::State::kDraining && !node->remote.address.empty())
    effects_.emplace_back(WatchNode{*node});
  return *node;
}

// What runs there goes on; the key is for the next connection.
Node Controller::accept_key(const Node& known, const std::string& key) {
  Node node = known;
  node.remote.key = key;
  record(NodeChanged{node});
  if (node.state == Node::State::kDown)
    record(NodeStateChanged{node.id, Node::State::kDown, "connecting"});
  effects_.emplace_back(WatchNode{*ledger_.find_node(node.id)});
  return *ledger_.find_node(node.id);
}

Result<Node> Controller::accept_node(Node node) {
  if (const Node* known = ledger_.find_node(node.name);
      known != nullptr && has_new_key(*known, node))
    return accept_key(*known, node.remote.key);
  if (ledger_.find_node(node.name) != nullptr)
    return conflict(fmt::format("there is a node '{}' already: remove it, or choose another --name",
                                node.name));
  const auto& nodes = ledger_.nodes();
  const auto same = std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) {
    return one.state != Node::State::kGone && one.remote.address == node.remote.address;
  });
  if (same != nodes.end())
    return conflict(
        fmt::format("node '{}' is {} already, and a machine is given away once only: "
                    "use that one, or remove it first",
                    same->name, node.remote.address));
  const auto free = std::find_if(nodes.begin(), nodes.end(),
                                 [](const Node& one) { return one.state == Node::State::kGone; });
  const auto position = static_cast<std::uint32_t>(free - nodes.begin());
  node.id = NodeId(position + 1);
  node.state = Node::State::kDown;
  node.state_reason = "connecting";
  record(NodeChanged{node});
  effects_.emplace_back(WatchNode{node});
  return *ledger_.find_node(node.id);
}

Result<Node> Controller::accept_node_limit(const std::string& name, std::uint32_t max_jobs) {
  const Node* node = ledger_.find_node(name);
  if (node == nullptr) return no_such_node(name);
  if (node->remote.address.empty())
    return conflict(fmt::format("'{}' is this machine: start its daemon with --slots", name));
  if (node->max_jobs == max_jobs) return *node;
  Node changed = *node;
  changed.max_jobs = max_jobs;
  record(NodeChanged{changed});
  return *ledger_.find_node(name);
}

Result<Node> Controller::accept_node_removal(const std::string& name, bool force) {
  const Node* node = ledger_.find_node(name);
  if (node == nullptr) return no_such_node(name);
  if (node->remote.address.empty())
    return conflict(fmt::format("'{}' is this machine: it cannot be removed, but drained", name));
  const NodeId id = node->id;
  if (node->jobs > 0 && !force)
    return conflict(fmt::format("{} of node '{}' {}: drain it and wait, or remove it with --force",
                                node->jobs == 1 ? "an attempt" : "attempts", name,
                                node->jobs == 1 ? "still runs" : "still run"));
  std::vector<const ActiveAttempt*> active;
  for (const auto& [task, attempt] : ledger_.active()) {
    if (attempt.allocation.node == id) active.push_back(&attempt);
  }
  std::sort(active.begin(), active.end(),
            [](const ActiveAttempt* a, const ActiveAttempt* b) { return a->id < b->id; });
  std::vector<AttemptEnded> lost;
  for (const ActiveAttempt* one : active) {
    Outcome outcome{.ending = Ending::kLost, .message = "its node was removed"};
    lost.push_back({one->id, one->started_at, now_, std::move(outcome), !one->staged});
  }
  for (AttemptEnded& one : lost) record(std::move(one));
  record(NodeStateChanged{id, Node::State::kGone, "removed"});
  effects_.emplace_back(ForgetNode{id});
  return *ledger_.find_node(id);
}

}  // namespace tutti
