#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// The commands of a batch that is written as JSON: one array, or one value on each line. An element
// that is a string is a command in shell syntax, an array of strings is a command's words, and an
// object fills `pattern`: each {key} in it is replaced by the value of that key, quoted for the
// shell (an array by its elements as separate words). `{{key}}` stands for a literal {key}, and
// ${key} is left to the shell. Without a pattern an object's "command" is the command.
Result<std::vector<std::string>> lines_from_json(std::string_view text, std::string_view pattern);

}  // namespace tutti
