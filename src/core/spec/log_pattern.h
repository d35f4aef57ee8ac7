#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

// What the % marks of an --output, --error or --results-to pattern stand for.
struct LogNames {
  std::string job;      // %j
  std::string task;     // %t
  std::string attempt;  // %a
  std::string name;     // %n
  std::string user;     // %u
  std::string line;     // %l: of a batch's file; otherwise the task
};

// Fails when the pattern has an unknown mark, and names the known ones.
Result<void> check_log_pattern(std::string_view pattern);

// Whether a mark, such as 't', occurs in the pattern.
bool log_pattern_has(std::string_view pattern, char mark);

// The pattern with its marks replaced; an unknown mark stays as it is. A slash in what is put in
// becomes '_', so that a name cannot lead to another folder.
std::string expand_log_pattern(std::string_view pattern, const LogNames& names);

}  // namespace tutti
