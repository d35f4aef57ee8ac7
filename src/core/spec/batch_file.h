#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// The commands of a batch, in the order of the file, each with the number of its (first) line.
struct BatchFile {
  std::vector<std::string> lines;
  std::vector<std::uint32_t> line_numbers;
  bool operator==(const BatchFile&) const = default;
};

// One command per line, in bash syntax. Blank lines and lines whose first character is # are left
// out; a backslash at the end of a line joins it with the next, also inside quotes; \n and \r\n end
// a line, and the last one may lack it; a byte order mark is skipped. A NUL byte, and a backslash
// on the very last line, are errors that name the line. May give no command at all.
Result<BatchFile> parse_batch_file(std::string_view text);

// Every line of the file is an argument of `line_template` (see expand_template), taken as it is:
// no comments, no joining; empty lines are left out.
Result<BatchFile> parse_each_line(std::string_view text, std::string_view line_template);

// The command for one value: every {} becomes the value, quoted for the shell; without any {} the
// value is added at the end. A {} inside quotes, backquotes or a comment is refused, because there
// the quoting would not hold.
Result<std::string> expand_template(std::string_view line_template, std::string_view value);

}  // namespace tutti
