// Scripts. Invariants: directives are in rising lines, each begins with a flag, and written as
// #TUTTI lines again they give the same tokens; an error names its line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/command_line.h"
#include "core/spec/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto header = parse_script(text);
  if (!header) {
    TUTTI_CHECK(header.error().message.starts_with("line "));
    return 0;
  }
  TUTTI_CHECK(header->shebang.empty() != has_shebang(text));
  std::uint32_t last = 0;
  std::string written;
  for (const Directive& directive : header->directives) {
    TUTTI_CHECK(directive.line > last);
    TUTTI_CHECK(directive.tokens.front().starts_with('-'));
    last = directive.line;
    written += "#TUTTI " + shell_join(directive.tokens) + "\n";
  }
  TUTTI_CHECK(header->late_lines.empty() || header->late_lines.front() > last);
  const auto again = parse_script(written);
  TUTTI_CHECK(again && again->directives.size() == header->directives.size());
  for (std::size_t i = 0; i < again->directives.size(); ++i) {
    TUTTI_CHECK(again->directives[i].tokens == header->directives[i].tokens);
  }
  return 0;
}
