#include "cli/verbs/add_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/machines/machines.h"
#include "cli/machines/pool.h"
#include "cli/output/json.h"
#include "cli/output/nodes.h"
#include "cli/output/text.h"
#include "core/spec/machine.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMostJobs = 1'000'000;

Result<std::vector<NamedMachine>> machines_of(const Arguments& arguments) {
  std::vector<NamedMachine> machines;
  for (std::size_t i = 1; i < arguments.words().size(); ++i) {
    auto found = find_machines(arguments.words()[i], user_home());
    if (!found) return found.error();
    machines.insert(machines.end(), found->begin(), found->end());
  }
  if (machines.size() > kMaxMachines) {
    return invalid_input(
        fmt::format("{} machines at once; at most {} are allowed", machines.size(), kMaxMachines));
  }
  if (!arguments.has("name")) return machines;
  if (machines.size() > 1) return invalid_input("--name is for one machine");
  machines.front().name = arguments.value("name");
  return machines;
}

// What the options say about all of them.
Result<json::object> common_fields(const Arguments& arguments) {
  json::object fields;
  if (arguments.has("key")) {
    auto key = key_file(arguments.value("key"), user_home());
    if (!key) return key.error();
    fields["key"] = text_to_json(*key);
  }
  if (arguments.has("gpus")) fields["gpus"] = text_to_json(arguments.value("gpus"));
  if (arguments.has("max-jobs")) {
    const auto most = parse_count("max-jobs", arguments.value("max-jobs"), 1, kMostJobs);
    if (!most) return most.error();
    fields["max_jobs"] = *most;
  }
  if (arguments.has("patience")) {
    const auto patience = parse_duration(arguments.value("patience"));
    if (!patience) return patience.error();
    fields["patience"] = text_to_json(arguments.value("patience"));
  }
  if (arguments.has("ports")) {
    const auto ports = parse_port_range(arguments.value("ports"));
    if (!ports) return ports.error();
    fields["ports"] = text_to_json(arguments.value("ports"));
  }
  json::array labels;
  for (const char* option : {"label", "labels"}) {
    for (const std::string& text : arguments.list(option)) {
      for (const std::string_view label : split_commas(text)) labels.push_back(text_to_json(label));
    }
  }
  if (!labels.empty()) fields["labels"] = std::move(labels);
  return fields;
}

// The numbers of `wanted` ("0,7") that the machine has no GPU for.
std::string absent_gpus(const std::string& wanted, const NodeView& node) {
  std::string absent;
  if (wanted.empty() || wanted == "none") return absent;
  for (const std::string_view number : split_commas(wanted)) {
    const auto is_it = [&](const MeasuredGpuView& gpu) {
      const auto index = static_cast<std::uint64_t>(gpu.index);
      return parse_digits(number, index) == index;
    };
    if (std::any_of(node.measured_gpus.begin(), node.measured_gpus.end(), is_it)) continue;
    absent += (absent.empty() ? "" : ", ") + std::string(number);
  }
  return absent;
}

void print_joined(Session& session, const std::vector<Joined>& joined, const Arguments& arguments) {
  const bool quiet = arguments.has("quiet");
  std::size_t width = 0;
  for (const Joined& one : joined) width = std::max(width, columns_of(printable(one.name)));
  for (const Joined& one : joined) {
    const std::string name = printable(one.name);
    if (one.error) {
      session.screen().err(
          fmt::format("tutti nodes: {}: {}\n", name, printable(one.error->message)));
      // Null: it did not even become a node.
      if (arguments.has("keep") && !one.node.is_null())
        session.screen().err(
            fmt::format("{} is kept, and gets work as soon as it is reached.\n", name));
      continue;
    }
    const std::string gap(width - columns_of(name) + 2, ' ');
    const NodeView node = node_view(one.node);
    session.screen().out(name + (quiet ? "" : gap + printable(node_size(node))) + "\n");
    const std::string absent = absent_gpus(arguments.value("gpus"), node);
    if (!absent.empty())
      session.screen().err(
          fmt::format("tutti nodes: {} has no GPU {}, which --gpus names\n", name, absent));
  }
}

void print_joined_json(Session& session, const std::vector<Joined>& joined) {
  json::array nodes;
  json::array failed;
  for (const Joined& one : joined) {
    if (!one.error) nodes.push_back(one.node);
    if (!one.error) continue;
    json::object entry = error_to_json(*one.error).as_object();
    entry["name"] = text_to_json(one.name);
    failed.push_back(std::move(entry));
  }
  print_json(session.screen(),
             json::object{{"nodes", std::move(nodes)}, {"failed", std::move(failed)}});
}

}  // namespace

int add_nodes(Session& session, const Arguments& arguments) {
  const auto machines = machines_of(arguments);
  if (!machines) return session.refuse(machines.error());
  const auto fields = common_fields(arguments);
  if (!fields) return session.refuse(fields.error());
  std::vector<json::object> requests;
  for (const NamedMachine& machine : *machines) {
    json::object request{{"address", text_to_json(machine.address)},
                         {"name", text_to_json(machine.name)}};
    if (!machine.key.empty()) request["key"] = text_to_json(machine.key);
    for (const auto& [key, value] : *fields) request[key] = value;
    requests.push_back(std::move(request));
  }
  const auto joined = join_machines(session, requests, arguments.has("keep"));
  if (!joined) return session.fail(joined.error());
  if (session.json()) {
    print_joined_json(session, *joined);
  } else {
    print_joined(session, *joined, arguments);
  }
  const bool failed = std::any_of(joined->begin(), joined->end(),
                                  [](const Joined& one) { return one.error.has_value(); });
  return failed ? kExitFailure : kExitOk;
}

}  // namespace tutti
