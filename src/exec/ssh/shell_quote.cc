#include "exec/ssh/shell_quote.h"

#include "base/check.h"
#include "core/spec/command_line.h"

namespace tutti {

std::string shell_quoted(std::string_view text) {
  TUTTI_CHECK(text.find('\0') == std::string_view::npos);
  return single_quoted(text);
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

}  // namespace tutti
