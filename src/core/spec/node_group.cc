#include "core/spec/node_group.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/spec/quantity.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// What is usual beside one GPU.
constexpr MilliCpu kCpusPerGpu{12'000};
constexpr MiB kMemoryPerGpu{96 * 1024};
constexpr MilliCpu kUsualCpus{64'000};
constexpr MiB kUsualMemory{256 * 1024};
constexpr MiB kUsualGpuMemory{80 * 1024};
constexpr std::uint32_t kMostCores = 100'000;

Error bad_group(std::string_view text) {
  return invalid_input(
      "add-nodes: " + shown(text) +
      " is not COUNTxTYPE:GPUS; write for instance 2xA100:8, or 4xcpu:64 for nodes "
      "without GPUs");
}

Error over_limit(std::string_view text, const std::string& limit) {
  return invalid_input("add-nodes: " + shown(text) + ": " + limit);
}

// A whole number above zero, however large.
bool is_positive(std::string_view text) {
  return is_digits(text) && text.find_first_not_of('0') != text.npos;
}

bool is_type(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
}

Result<NodeGroup> parse_group(std::string_view text) {
  const std::size_t times = text.find('x');
  const std::size_t colon = text.rfind(':');
  if (times == std::string_view::npos || colon == std::string_view::npos || colon < times)
    return bad_group(text);
  const std::string_view type = text.substr(times + 1, colon - times - 1);
  const std::string_view size_text = text.substr(colon + 1);
  if (!is_positive(text.substr(0, times)) || !is_type(type) || !is_positive(size_text))
    return bad_group(text);
  const auto count = parse_digits(text.substr(0, times), kMaxSimulatedNodes);
  if (!count) return over_limit(text, "there are at most 100,000 nodes");
  NodeGroup group{.name = "added", .count = static_cast<std::uint32_t>(*count)};
  const bool cpus = type == "cpu";
  const auto size = parse_digits(size_text, cpus ? kMostCores : kMaxGpusPerNode);
  if (!size)
    return over_limit(text,
                      cpus ? "a node has at most 100,000 cores"
                           : "a node has at most " + std::to_string(kMaxGpusPerNode) + " GPUs");
  if (cpus) {
    group.cpus = MilliCpu(static_cast<std::int64_t>(*size) * 1000);
    return group;
  }
  group.gpus = static_cast<std::uint32_t>(*size);
  group.type = type;
  return group;
}

// "A100-80G" says how much memory it has.
MiB memory_of_type(std::string_view type) {
  const std::size_t dash = type.rfind('-');
  if (dash == std::string_view::npos || !type.ends_with('G')) return kUsualGpuMemory;
  const Result<MiB> memory = parse_memory(type.substr(dash + 1));
  return memory ? *memory : kUsualGpuMemory;
}

Node node_of(const NodeGroup& group) {
  Node node;
  node.cpus = group.cpus;
  node.memory = group.memory;
  if (node.cpus.value == 0) node.cpus = group.gpus > 0 ? kCpusPerGpu * group.gpus : kUsualCpus;
  if (node.memory.value == 0)
    node.memory = group.gpus > 0 ? kMemoryPerGpu * group.gpus : kUsualMemory;
  node.labels = group.labels;
  std::sort(node.labels.begin(), node.labels.end());
  Device device;
  device.type = group.type;
  device.memory = group.gpu_memory.value > 0 ? group.gpu_memory : memory_of_type(group.type);
  node.devices.assign(group.gpus, device);
  return node;
}

}  // namespace

Result<std::vector<NodeGroup>> parse_node_groups(std::string_view text) {
  std::vector<NodeGroup> groups;
  for (const std::string_view part : split_commas(text)) {
    Result<NodeGroup> group = parse_group(part);
    if (!group) return group.error();
    groups.push_back(*std::move(group));
  }
  return groups;
}

std::vector<Node> nodes_of(const std::vector<NodeGroup>& groups) {
  std::map<std::string, std::uint32_t> numbered;
  std::vector<Node> nodes;
  for (const NodeGroup& group : groups) {
    const Node node = node_of(group);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      nodes.push_back(node);
      nodes.back().name = group.name + "-" + std::to_string(++numbered[group.name]);
      for (std::size_t d = 0; d < nodes.back().devices.size(); ++d)
        nodes.back().devices[d].uuid =
            std::to_string(nodes.size()) + "." + std::to_string(d);  // short: copied often
    }
  }
  return nodes;
}

}  // namespace tutti
