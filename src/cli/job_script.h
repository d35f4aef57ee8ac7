#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/copy_choice.h"
#include "core/spec/script.h"

namespace tutti {

inline constexpr std::size_t kLargestScript = std::size_t{4} << 20;

// A script that is to be sent as text.
struct Script {
  std::string text;
  ScriptHeader header;
};

// A file with #TUTTI lines is a script; so is one with a "#!" line that could not be executed as
// the command it looks like. Nothing: the word is an ordinary command.
Result<std::optional<Script>> script_at(const std::string& word);

// The #TUTTI lines of a script, one after the other. Returns the --env settings among them.
Result<std::vector<std::string>> apply_directives(const Script& script, const std::string& path,
                                                  boost::json::object& job, CopyChoice& copy);

}  // namespace tutti
