#include "core/policy/impossible.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/configurations.h"
#include "core/plan/demand.h"
#include "core/policy/gang_placement.h"
#include "core/policy/lacks.h"

namespace tutti {
namespace {

// A node elsewhere that could run what stays on this machine for want of --on; null: none.
const Node* possible_elsewhere(const std::vector<Node>& nodes, const Request& request) {
  if (!request.labels.empty()) return nullptr;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) {
    Request there = request;
    there.labels = {node.name};
    return could_ever_fit(node, there);
  });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace

std::string impossible(const Ledger& ledger, const Request& request) {
  if (!request.configurations.empty()) {
    const std::vector<Request> variants = variants_of(request);
    for (const Request& variant : variants)
      if (impossible(ledger, variant).empty()) return {};
    return impossible(ledger, variants.front());
  }
  const std::vector<Node>& nodes = ledger.nodes();
  if (nodes.empty()) return {};
  for (const Node& node : nodes) {
    if (could_ever_fit(node, request)) return {};
  }
  if (const std::string label = unknown_label(nodes, request); !label.empty()) {
    return fmt::format(
        "no node is called '{}' or has it as a label; see 'tutti nodes', or add one with 'tutti "
        "nodes add'",
        label);
  }
  const std::string wanted = lacking_everywhere(nodes, request);
  if (const Node* node = possible_elsewhere(nodes, request))
    return fmt::format(
        "this machine could never run it: it wants {}. Jobs with --on {} run there, where it fits.",
        wanted, node->name);
  return fmt::format("no node could ever run it: it wants {}. Ask for less, or add a node.",
                     wanted);
}

std::string impossible_gang(const Ledger& ledger, const std::vector<RankGroup>& ranks) {
  if (ranks.empty() || ledger.nodes().empty()) return {};
  std::vector<Node> nodes;
  for (const Node& node : ledger.nodes()) {
    nodes.push_back(emptied(node));
    if (node.state != Node::State::kGone) nodes.back().state = Node::State::kUp;
    // What another machine has is known once it was reached.
    if (node.state == Node::State::kDown && node.cpus.value == 0) return {};
  }
  std::vector<const Request*> together;
  for (const RankGroup& group : ranks)
    together.insert(together.end(), group.elastic ? 1 : group.at_once(), &group.request);
  const std::size_t placed = place_together(nodes, together, {}).size();
  if (placed == together.size()) return {};
  return fmt::format(
      "its {} workers start together, but all nodes at once have room for {} of them only, even "
      "when nothing else runs. Ask for fewer or smaller workers, or add a node.",
      together.size(), placed);
}

std::string impossible_kind(const Ledger& ledger, const Request& request, const std::string& kind) {
  MiB need;
  for (const Request& variant : variants_of(request)) {
    const MiB unmet = unmet_need(variant, ledger.profile(kind), device_types(ledger.nodes()));
    if (unmet.value == 0) return {};
    need = std::max(need, unmet);
  }
  return fmt::format(
      "no GPU is large enough: runs of kind {} needed {} MiB of GPU memory. Make it smaller, add a "
      "larger GPU, or have it measured anew: tutti profile forget {}",
      kind, need.value, kind);
}

}  // namespace tutti
