#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tutti {

// How a tool ended and what it wrote to its standard output.
struct ToolOutput {
  int exit_code = 0;  // 128 + N after signal N
  std::string text;
};

// What a tool may cost. Beyond it the tool and everything that it started is killed.
struct ToolLimits {
  Duration time = seconds(5);
  std::size_t bytes = std::size_t{1} << 20;
};

// Runs a program (a name is looked up in PATH) with these arguments, no shell between, no input,
// and its standard error thrown away. Blocks until it has ended.
Result<ToolOutput> run_tool(const std::string& program, const std::vector<std::string>& arguments,
                            const ToolLimits& limits = {});

}  // namespace tutti
