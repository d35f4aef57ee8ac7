#include "cli/machines/remote_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <set>

#include "cli/machines/pool.h"
#include "cli/output/text.h"
#include "client/http_client.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

const NodeView* at_address(const std::vector<NodeView>& nodes, const std::string& address) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeView& node) { return node.address == address; });
  return found == nodes.end() ? nullptr : &*found;
}

// A name that no node has yet.
std::string free_name(const std::string& wanted, const std::set<std::string>& taken) {
  std::string name = wanted;
  for (int number = 2; taken.contains(name); ++number) name = fmt::format("{}-{}", wanted, number);
  return name;
}

void say_unusable(Session& session, const std::string& given, const std::string& why) {
  session.screen().err(
      fmt::format("WARNING: machine {} is not used: {}\n", printable(given), printable(why)));
}

// The file may name another key than the one by which a known machine was reached so far.
Result<void> tell_key(Session& session, const NamedMachine& machine, const json::object& request) {
  if (machine.key.empty()) return {};
  auto answer = session.client().request("POST", "/v1/nodes", json::serialize(request));
  if (answer || answer.error().code == ErrorCode::kConflict) return {};
  return answer.error();
}

// The node of each machine by its address; those that are not there yet are added.
Result<std::map<std::string, std::string>> nodes_of(Session& session,
                                                    const std::vector<NamedMachine>& machines) {
  auto answer = fetch_nodes(session);
  if (!answer) return answer.error();
  const std::vector<NodeView> nodes = node_views(*answer);
  std::set<std::string> taken;
  for (const NodeView& node : nodes) taken.insert(node.name);
  std::map<std::string, std::string> known;
  std::map<std::string, std::string> given;  // by the new node's name
  std::vector<json::object> requests;
  for (const NamedMachine& machine : machines) {
    if (known.contains(machine.address)) continue;
    const NodeView* node = at_address(nodes, machine.address);
    const std::string name = node != nullptr ? node->name : free_name(machine.name, taken);
    known[machine.address] = name;
    json::object request{{"address", text_to_json(machine.address)}, {"name", text_to_json(name)}};
    if (!machine.key.empty()) request["key"] = text_to_json(machine.key);
    if (node != nullptr) {
      if (auto told = tell_key(session, machine, request); !told) return told.error();
      continue;
    }
    taken.insert(name);
    given[name] = machine.given;
    requests.push_back(std::move(request));
  }
  if (requests.empty()) return known;
  auto joined = join_machines(session, requests, false);
  if (!joined) return joined.error();
  for (const Joined& one : *joined) {
    if (!one.error) continue;
    say_unusable(session, given[one.name], one.error->message);
    std::erase_if(known, [&](const auto& entry) { return entry.second == one.name; });
  }
  return known;
}

FreeMachine free_of(const NodeView& node) {
  FreeMachine free;
  free.idle_cpus =
      MilliCpu(std::llround(std::max(0.0, node.measured_cpus - node.busy_cpus) * 1000));
  free.free_memory = MiB(node.available_mib);
  for (const MeasuredGpuView& gpu : node.measured_gpus) {
    free.gpus.push_back({static_cast<std::uint32_t>(gpu.index), MiB(gpu.memory_mib - gpu.used_mib),
                         MilliGpu(std::llround(gpu.utilization * 1000))});
  }
  return free;
}

// Why a node cannot be used now; empty: it can.
std::string why_unusable(const json::value* node) {
  if (node == nullptr) return "was removed";
  const NodeView view = node_view(*node);
  if (view.state != "up") return view.reason.empty() ? "is " + view.state : view.reason;
  return view.measured_at ? "" : "could not be measured";
}

// A word as Python writes it, since scripts read this line.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? "\\'" : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<std::vector<PoolMachine>> gather_machines(Session& session,
                                                 const std::vector<NamedMachine>& machines,
                                                 const SlotNeed& need) {
  auto known = nodes_of(session, machines);
  if (!known) return known.error();
  std::vector<std::string> names;
  for (const auto& [address, name] : *known) names.push_back(name);
  auto nodes = names.empty() ? Result<json::value>(json::value()) : measure_nodes(session, names);
  if (!nodes) return nodes.error();
  std::vector<PoolMachine> pool;
  std::set<std::string> seen;
  for (const NamedMachine& machine : machines) {
    const auto entry = known->find(machine.address);
    if (entry == known->end() || !seen.insert(machine.address).second) continue;
    const json::value* node = find_node(*nodes, entry->second);
    if (const std::string why = why_unusable(node); !why.empty()) {
      say_unusable(session, machine.given, why);
      continue;
    }
    const NodeView view = node_view(*node);
    FreeMachine free = free_of(view);
    Slots slots = count_slots(free, need);
    pool.push_back({machine.given, view.name, std::move(slots), std::move(free)});
  }
  if (pool.empty()) return Error{ErrorCode::kUnavailable, "none of the machines can be used"};
  return pool;
}

std::string limits_text(const std::vector<PoolMachine>& machines) {
  std::string limits;
  std::string choices;
  for (const PoolMachine& machine : machines) {
    const char* const comma = limits.empty() ? "" : ", ";
    limits += fmt::format("{}{}: {}", comma, quoted(machine.given), machine.slots.gpus.size());
    std::string list;
    for (const auto& gpu : machine.slots.gpus) {
      if (gpu) list += (list.empty() ? "" : ", ") + std::to_string(*gpu);
    }
    choices += fmt::format("{}[{}]", comma, list);
  }
  return "machine limits:  {" + limits + "}\nmachine gpu choices: [" + choices + "]\n";
}

SlotNeed fitted(const SlotNeed& need, const std::vector<PoolMachine>& machines) {
  SlotNeed out = need;
  for (const PoolMachine& machine : machines) {
    const auto count = static_cast<std::int64_t>(machine.slots.gpus.size());
    if (count == 0) continue;
    const MilliCpu each((machine.free.idle_cpus.value + kCpuOverload.value) / count);
    out.cpus = std::max(MilliCpu(1), std::min(out.cpus, std::min(each, machine.free.idle_cpus)));
    std::map<std::uint32_t, std::int64_t> on_gpu;
    for (const auto& gpu : machine.slots.gpus) {
      if (gpu) ++on_gpu[*gpu];
    }
    for (const auto& [gpu, jobs] : on_gpu) {
      out.gpu_share = std::min(out.gpu_share, MilliGpu(1000 / jobs));
    }
  }
  return out;
}

}  // namespace tutti
