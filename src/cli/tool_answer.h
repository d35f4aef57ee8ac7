#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tutti {

// What a program wrote to standard output and standard error, and how it ended.
struct ToolAnswer {
  int status = 0;  // as a shell's $?
  std::string text;
};

// Runs a program and waits for it. One that takes longer than `limit` is killed, which its status
// tells. kNotFound: there is none of that name.
Result<ToolAnswer> ask_tool(const std::vector<std::string>& argv, Duration limit);

}  // namespace tutti
