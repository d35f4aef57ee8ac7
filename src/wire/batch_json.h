#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// The commands of a batch that is written as JSON: one array, or one value on each line. Without a
// pattern a string is a command in shell syntax, an array of strings is a command's words, and an
// object's "command" is one of these. With a pattern elements are data: objects fill {key} places,
// each with the value of that key, quoted for the shell (an array as separate words); single values
// fill {} (expand_template). `{{key}}` stands for a literal {key}, and ${key} is left to the shell.
Result<std::vector<std::string>> lines_from_json(std::string_view text, std::string_view pattern);

}  // namespace tutti
