#include "wire/node_json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/spec/machine.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMostJobs = 1'000'000;
constexpr std::string_view kPool = "pool";

// Stores a parsed value where `into` points, or gives its error.
template <typename T>
Result<void> store(Result<T> value, T& into) {
  if (!value) return value.error();
  into = *std::move(value);
  return {};
}

Result<void> set_address(const json::value& value, Node& node) {
  const auto text = word_from_json(value, "address");
  if (!text) return text.error();
  const auto address = parse_machine_address(*text);
  if (!address) return address.error();
  node.remote.address = format_machine_address(*address);
  if (node.name.empty()) node.name = machine_name(*address);
  return {};
}

Result<void> set_name(const json::value& value, Node& node) {
  const auto stored = store(word_from_json(value, "name"), node.name);
  return stored ? check_machine_word("name", node.name) : stored;
}

Result<void> set_key(const json::value& value, Node& node) {
  const auto stored = store(word_from_json(value, "key"), node.remote.key);
  if (!stored) return stored;
  if (!node.remote.key.starts_with('/') || first_control_character(node.remote.key)) {
    return invalid_input("key " + shown(node.remote.key) + ": must be an absolute path");
  }
  return {};
}

Result<void> set_gpus(const json::value& value, Node& node) {
  const auto stored = store(word_from_json(value, "gpus"), node.remote.gpus);
  return stored ? check_gpu_list(node.remote.gpus) : stored;
}

Result<void> set_max_jobs(const json::value& value, Node& node) {
  const auto most = integer_from_json(value, "max_jobs", 0, kMostJobs);
  if (!most) return most.error();
  node.max_jobs = static_cast<std::uint32_t>(*most);
  return {};
}

Result<void> set_labels(const json::value& value, Node& node) {
  const auto stored = store(words_from_json(value, "labels"), node.labels);
  if (!stored) return stored;
  for (const std::string& label : node.labels) {
    if (const auto good = check_machine_word("label", label); !good) return good;
  }
  return {};
}

Result<void> set_patience(const json::value& value, Node& node) {
  const auto text = word_from_json(value, "patience");
  if (!text) return text.error();
  const auto patience = parse_duration(*text);
  if (!patience) return patience.error();
  if (*patience < seconds(1) || *patience > seconds(30 * 86400)) {
    return invalid_input("patience " + shown(*text) + ": must be from 1s to 30d");
  }
  node.remote.patience = *patience;
  return {};
}

Result<void> set_ports(const json::value& value, Node& node) {
  const auto text = word_from_json(value, "ports");
  if (!text) return text.error();
  return store(parse_port_range(*text), node.port_range);
}

// Name before address, which gives one to a node that has none.
constexpr std::array<std::string_view, 8> kKeys = {"name",     "address", "key",      "gpus",
                                                   "max_jobs", "labels",  "patience", "ports"};
constexpr std::array kSetters = {set_name,     set_address, set_key,      set_gpus,
                                 set_max_jobs, set_labels,  set_patience, set_ports};

}  // namespace

Result<Node> node_from_json(std::string_view body) {
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a node", kKeys);
  if (!object) return object.error();
  if (!(*object)->contains("address")) {
    return invalid_input("a node needs an address, such as ada@box1");
  }
  Node node;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const auto* field = (*object)->if_contains(kKeys[i]);
    if (field == nullptr) continue;
    if (const auto set = kSetters[i](*field, node); !set) return set.error();
  }
  node.labels.emplace_back(kPool);
  std::sort(node.labels.begin(), node.labels.end());
  node.labels.erase(std::unique(node.labels.begin(), node.labels.end()), node.labels.end());
  return node;
}

Result<std::uint32_t> node_limit_from_json(std::string_view body) {
  constexpr std::array<std::string_view, 1> kOnly = {"max_jobs"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a node's limit", kOnly);
  if (!object) return object.error();
  const auto* field = (*object)->if_contains("max_jobs");
  if (field == nullptr) return invalid_input("a node's limit needs max_jobs");
  Node node;
  if (const auto set = set_max_jobs(*field, node); !set) return set.error();
  return node.max_jobs;
}

}  // namespace tutti
