#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

// A machine that a user named, ready to be added as a node.
struct NamedMachine {
  std::string given;    // the user's word for it
  std::string name;     // for the node
  std::string address;  // as POST /v1/nodes takes it
  std::string key;      // an absolute path; empty: ssh's business
  bool operator==(const NamedMachine&) const = default;
};

// The machines that a word names: a machine file, looked up as given, with ".yaml" and then both in
// `home`/.local/var; otherwise an address, an alias of ~/.ssh/config or a pattern such as
// box[01-16].
Result<std::vector<NamedMachine>> find_machines(const std::string& word, const std::string& home);

// "~/x" below `home`, and what is relative below the current folder. The file must be readable.
Result<std::string> key_file(const std::string& path, const std::string& home);

// The user's own folder, from $HOME.
std::string user_home();

}  // namespace tutti
