#include "core/policy/lacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tutti {
namespace {

// Which devices are meant, after the word "GPU", such as " of type A100 with 20480 MiB free".
std::string device_words(const DeviceRequest& wanted) {
  std::string words;
  if (!wanted.type.empty()) words += fmt::format(" of type {}", wanted.type);
  if (wanted.whole()) {
    if (wanted.memory.value > 0) words += fmt::format(" of at least {} MiB", wanted.memory.value);
    return words + " to itself";
  }
  if (wanted.memory.value > 0) words += fmt::format(" with {} MiB free", wanted.memory.value);
  if (wanted.share.value > 0)
    words += fmt::format("{} {:g} of it unused", wanted.memory.value > 0 ? " and" : " with",
                         static_cast<double>(wanted.share.value) / 1000.0);
  return words;
}

// Why devices of the node are left out, such as "; GPU 1 is not used: 3 ECC errors".
std::string device_troubles(const Node& node) {
  std::string words;
  for (const Device& device : node.devices) {
    if (!device.healthy)
      words += fmt::format("; GPU {} is not used: {}", device.id.value,
                           device.trouble.empty() ? "it is sick" : device.trouble);
    else if (device.foreign.value > 0)
      words += fmt::format("; others have {} MiB of GPU {}", device.foreign.value, device.id.value);
  }
  return words;
}

// What of the devices no node has; empty: it is something else. `largest_node`: how to call the
// largest of the nodes.
std::string lacking_devices(const std::vector<Node>& nodes, const DeviceRequest& wanted,
                            std::string_view largest_node) {
  std::size_t most = 0;
  std::size_t most_of_type = 0;
  MiB largest;
  std::string types;
  for (const Node& node : nodes) {
    std::size_t of_type = 0;
    for (const Device& device : node.devices) {
      if (types.find(device.type) == std::string::npos)
        types += (types.empty() ? "" : ", ") + device.type;
      if (!is_of_type(device.type, wanted.type)) continue;
      ++of_type;
      largest = std::max(largest, device.memory);
    }
    most = std::max(most, node.devices.size());
    most_of_type = std::max(most_of_type, of_type);
  }
  const auto gpus = fmt::format("{} GPU{}", wanted.count, wanted.count == 1 ? "" : "s");
  if (wanted.count > most) return fmt::format("{} ({} has {})", gpus, largest_node, most);
  if (wanted.count > most_of_type && most_of_type > 0)
    return fmt::format("{} of type {} ({} has {} of them)", gpus, wanted.type, largest_node,
                       most_of_type);
  if (wanted.count > most_of_type)
    return fmt::format("{} of type {} (there are GPUs of type {})", gpus, wanted.type, types);
  if (wanted.memory > largest)
    return fmt::format("{} with {} MiB (the largest has {} MiB)", gpus, wanted.memory.value,
                       largest.value);
  return {};
}

// The nodes to which a request may go by its labels.
std::vector<Node> allowed_nodes(const std::vector<Node>& nodes, const Request& request) {
  Request labels_only;
  labels_only.cpus = MilliCpu();
  labels_only.labels = request.labels;
  std::vector<Node> allowed;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(allowed), [&](const Node& node) {
    return node.state != Node::State::kGone && could_ever_fit(node, labels_only);
  });
  return allowed;
}

}  // namespace

std::string unknown_label(const std::vector<Node>& nodes, const Request& request) {
  for (const std::string& label : request.labels) {
    const bool known = std::any_of(nodes.begin(), nodes.end(),
                                   [&](const Node& node) { return has_label(node, label); });
    if (known) continue;
    std::string text = label;
    std::replace(text.begin(), text.end(), '|', ',');
    return text;
  }
  return {};
}

std::string lacking_everywhere(const std::vector<Node>& nodes, const Request& request) {
  const std::vector<Node> allowed = allowed_nodes(nodes, request);
  const std::string combination = "this combination of CPUs, memory, GPUs and labels";
  if (allowed.empty()) return combination;
  MilliCpu cpus;
  MiB memory;
  for (const Node& node : allowed) {
    cpus = std::max(cpus, node.cpus);
    memory = std::max(memory, node.memory);
  }
  const std::string_view largest_node =
      allowed.size() < nodes.size() ? "the largest node that it may use" : "the largest node";
  if (request.cpus > cpus)
    return fmt::format("{:g} CPU{} ({} has {:g})", static_cast<double>(request.cpus.value) / 1000.0,
                       request.cpus.value == 1000 ? "" : "s", largest_node,
                       static_cast<double>(cpus.value) / 1000.0);
  if (request.memory > memory)
    return fmt::format("{} MiB of memory ({} has {})", request.memory.value, largest_node,
                       memory.value);
  const std::string devices =
      request.devices.count == 0 ? "" : lacking_devices(allowed, request.devices, largest_node);
  return devices.empty() ? combination : devices;
}

const Node* best_node(const Ledger& ledger, const Request& request,
                      std::span<const std::uint32_t> room) {
  const Node* best = nullptr;
  for (const Node& node : ledger.nodes()) {
    if (!room.empty() && room[node.id.value - 1] == 0) continue;
    if (node.state != Node::State::kUp || !could_ever_fit(node, request)) continue;
    if (best == nullptr || fits_now(node, request) > fits_now(*best, request) ||
        (fits_now(node, request) == fits_now(*best, request) && node.free_cpus > best->free_cpus))
      best = &node;
  }
  return best;
}

void add_lacks(const Node& node, const Request& request, std::vector<Reason>& reasons) {
  const auto lack = [&](ReasonCode code, std::int64_t wanted, std::int64_t available,
                        std::int64_t capacity, std::string detail = {}) {
    reasons.push_back({.code = code,
                       .wanted = wanted,
                       .available = std::max<std::int64_t>(available, 0),
                       .capacity = capacity,
                       .node = node.name,
                       .detail = std::move(detail)});
  };
  const MilliCpu cpus = node.free_cpus - node.foreign_cpus;
  const MiB memory = node.free_memory - node.foreign_memory;
  if (request.cpus > cpus) lack(ReasonCode::kCpus, request.cpus.value, cpus.value, node.cpus.value);
  if (request.memory > memory)
    lack(ReasonCode::kMemory, request.memory.value, memory.value, node.memory.value);
  if (node.max_jobs > 0 && node.jobs >= node.max_jobs)
    lack(ReasonCode::kJobs, 1, node.jobs, node.max_jobs);
  Request devices_only;
  devices_only.labels = request.labels;
  devices_only.cpus = MilliCpu();
  devices_only.devices = request.devices;
  if (!fits_now(node, devices_only) && request.devices.count > 0) {
    const auto of_type = std::count_if(
        node.devices.begin(), node.devices.end(),
        [&](const Device& device) { return is_of_type(device.type, request.devices.type); });
    lack(ReasonCode::kDevices, request.devices.count, devices_now(node, request.devices), of_type,
         device_words(request.devices));
    reasons.back().more = device_troubles(node);
  }
}

std::string closed_nodes(const Ledger& ledger, const Request& request) {
  std::string text;
  for (const Node& node : ledger.nodes()) {
    if (!could_ever_fit(node, request)) continue;
    text += fmt::format("{}{} is {}{}", text.empty() ? "" : ", ", node.name,
                        node_state_name(node.state),
                        node.state_reason.empty() ? "" : " (" + node.state_reason + ")");
  }
  if (!text.empty()) return text;
  const std::string label = unknown_label(ledger.nodes(), request);
  return label.empty() ? "none could, it wants " + lacking_everywhere(ledger.nodes(), request)
                       : fmt::format("none is called '{}' or has it as a label", label);
}

}  // namespace tutti
