#include "cli/speeds.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "cli/read_text.h"
#include "client/views.h"
#include "core/spec/text.h"
#include "wire/speed_json.h"

namespace tutti {
namespace {

constexpr std::size_t kLargestTable = std::size_t{64} << 20;

}  // namespace

Result<SpeedTable> speeds_of_file(const std::string& path) {
  const auto text = read_text(path, kLargestTable);
  if (!text) return text.error();
  return speeds_of_text(path, *text);
}

Result<SpeedTable> speeds_of_text(const std::string& path, const std::string& text) {
  auto table = read_speeds(text);
  if (table) return table;
  // "line 3: what" becomes "FILE:3: what".
  std::string message = table.error().message;
  if (message.starts_with("line ")) message = ":" + message.substr(5);
  return invalid_input((path == "-" ? "stdin" : path) + message);
}

Result<SpeedTable> speeds_of_daemon(Session& session) {
  const auto answer = session.client().request("GET", "/v1/speeds", {});
  if (!answer) return answer.error();
  return speeds_from_json(*answer);
}

Result<std::vector<DeviceShape>> gpus_of_daemon(Session& session) {
  const auto answer = session.client().request("GET", "/v1/nodes", {});
  if (!answer) return answer.error();
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> nodes;  // by type and count
  for (const NodeView& node : node_views(*answer)) {
    std::map<std::string, std::uint32_t> counts;
    for (const DeviceTypeView& device : node.devices) ++counts[device.type];
    for (const auto& [type, count] : counts) ++nodes[{type, count}];
  }
  std::vector<DeviceShape> shapes;
  for (const auto& [key, count] : nodes) shapes.push_back({key.first, count, key.second});
  return shapes;
}

}  // namespace tutti
