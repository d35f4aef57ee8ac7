#include <array>

#include "base/nearest.h"
#include "core/spec/machine.h"
#include "core/spec/text.h"
#include "core/spec/yaml_tree.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 4> kFields = {"username", "ip", "port", "ssh_key_path"};

// One machine file on its way. Lives for one call.
struct Reader {
  const std::string& file_name;
  std::string user;
  std::string host;
  std::string port;
  MachineFile file;

  Result<void> take(const YamlNode& key, const YamlNode& value) {
    const std::string& name = key.text;
    if (value.kind != YamlNode::Kind::kText || value.text.empty()) {
      return yaml_error(file_name, value.place,
                        name + " has no value; write one, or drop the line");
    }
    if (const auto at = first_control_character(value.text)) {
      return yaml_error(file_name, value.place, name + " has a control character");
    }
    if (name == "username") return store(value, user);
    if (name == "ip") return store(value, host);
    if (name == "port") return store(value, port);
    if (name == "ssh_key_path") return store(value, file.key_path);
    return yaml_error(file_name, key.place,
                      "unknown field " + shown(name) + did_you_mean(name, kFields));
  }

  static Result<void> store(const YamlNode& value, std::string& into) {
    into = value.text;
    return {};
  }

  // The parts are checked by the parser of addresses, so that both have the same rules.
  std::string address() const {
    const bool bare = host.find(':') != std::string::npos && !host.starts_with('[');
    std::string text = user.empty() ? "" : user + "@";
    text += bare ? "[" + host + "]" : host;
    return port.empty() ? text : text + ":" + port;
  }
};

}  // namespace

Result<MachineFile> parse_machine_file(std::string_view text, const std::string& file_name) {
  const auto root = parse_yaml(text, file_name);
  if (!root) return root.error();
  if (root->kind != YamlNode::Kind::kMap) {
    return yaml_error(file_name, root->place,
                      "is no machine file; write the fields username, ip, port and ssh_key_path");
  }
  Reader reader{file_name, {}, {}, {}, {}};
  for (std::size_t i = 0; i < root->keys.size(); ++i) {
    if (auto taken = reader.take(root->keys[i], root->items[i]); !taken) return taken.error();
  }
  if (reader.host.empty()) {
    return yaml_error(file_name, root->place, "has no ip; write the machine's name or address");
  }
  auto address = parse_machine_address(reader.address());
  if (!address) return yaml_error(file_name, root->place, address.error().message);
  reader.file.address = *std::move(address);
  return std::move(reader.file);
}

}  // namespace tutti
