#include "control/node_router.h"

#include <utility>

namespace tutti {
namespace {

bool is_here(NodeId node) {
  return node == kThisMachine;
}

NodeId node_of(const StartAttempt& order) {
  return order.allocation.node;
}
NodeId node_of(const WatchNode& order) {
  return order.node.id;
}
NodeId node_of(const auto& order) {
  return order.node;
}

}  // namespace

Result<void> NodeRouter::attach(const Known& known, ReportSink& sink) {
  Known here;
  Known elsewhere;
  for (const KnownAttempt& attempt : known.attempts)
    (is_here(attempt.allocation.node) ? here : elsewhere).attempts.push_back(attempt);
  for (const Node& node : known.nodes) (is_here(node.id) ? here : elsewhere).nodes.push_back(node);
  if (Result<void> attached = here_.attach(here, sink); !attached) return attached;
  return elsewhere_.attach(elsewhere, sink);
}

void NodeRouter::order(std::vector<Effect> effects) {
  std::vector<Effect> here;
  std::vector<Effect> elsewhere;
  for (Effect& effect : effects) {
    const NodeId node = std::visit([](const auto& one) { return node_of(one); }, effect);
    (is_here(node) ? here : elsewhere).push_back(std::move(effect));
  }
  if (!here.empty()) here_.order(std::move(here));
  if (!elsewhere.empty()) elsewhere_.order(std::move(elsewhere));
}

void NodeRouter::journalled(std::span<const AttemptId> ended) {
  here_.journalled(ended);
  elsewhere_.journalled(ended);
}

}  // namespace tutti
