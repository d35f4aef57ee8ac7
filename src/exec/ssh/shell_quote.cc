#include "exec/ssh/shell_quote.h"

#include "base/check.h"

namespace tutti {

std::string shell_quoted(std::string_view text) {
  TUTTI_CHECK(text.find('\0') == std::string_view::npos);
  std::string quoted = "'";
  for (const char c : text) {
    // Nothing is special between single quotes but the quote itself.
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  quoted += '\'';
  return quoted;
}

}  // namespace tutti
