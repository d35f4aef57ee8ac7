#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// How many machines one pattern such as "box[1-16]" may name.
inline constexpr std::size_t kMaxMachines = 1024;

// Where ssh finds a machine. A value; its parts are safe as arguments of ssh: none begins with a
// dash or has a blank, a quote or a control character.
struct MachineAddress {
  std::string user;        // empty: as ssh decides
  std::string host;        // a name, an alias of ~/.ssh/config, or an address without brackets
  std::uint32_t port = 0;  // zero: as ssh decides
  bool operator==(const MachineAddress&) const = default;
};

// "host", "user@host", "user@host:2222", "[fe80::1]:22", "ssh://user@host:22".
Result<MachineAddress> parse_machine_address(std::string_view text);

// The shortest text that parse_machine_address reads as this address.
std::string format_machine_address(const MachineAddress& address);

// The addresses that a pattern names, in its order: "box[01-16]" has sixteen, "gpu[1,3-5].lab"
// four, and text without such a list is itself. Several lists multiply. A first number with leading
// zeros sets the width. An IPv6 address in brackets is no list.
Result<std::vector<std::string>> expand_machines(std::string_view pattern);

// A name for a node that is reached there: the host, without characters that lists of nodes use.
std::string machine_name(const MachineAddress& address);

// Whether it can be a node's name or label: short, and without what lists of them use, such as
// commas, bars and blanks. `what` is what the error calls it.
Result<void> check_machine_word(std::string_view what, std::string_view word);

// The label that means any of these nodes: "a,b" is "a|b". Names of nodes, or labels of theirs.
Result<std::string> label_of_places(std::string_view text);

// Which GPUs of a machine are to be used: "none", or numbers such as "0,2"; empty: all.
Result<void> check_gpu_list(std::string_view text);

// A machine as a YAML file describes it.
struct MachineFile {
  MachineAddress address;
  std::string key_path;  // as written, perhaps with "~/"; empty: none
  bool operator==(const MachineFile&) const = default;
};

// Reads the fields ip (needed), username, port and ssh_key_path. `file_name` is for messages, which
// begin with FILE:LINE:COLUMN. Unknown and repeated fields, lists and mappings are errors.
Result<MachineFile> parse_machine_file(std::string_view text, const std::string& file_name);

}  // namespace tutti
