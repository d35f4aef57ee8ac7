#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// One #TUTTI line of a script: the flags as on the command line, with quotes removed.
struct Directive {
  std::uint32_t line = 0;
  std::vector<std::string> tokens;  // the first begins with '-'
  bool operator==(const Directive&) const = default;
};

// What the head of a script says to Tutti.
struct ScriptHeader {
  std::string shebang;  // what follows "#!" on the first line; empty: none
  std::vector<Directive> directives;
  // Lines with #TUTTI behind the first command: not read, worth a warning.
  std::vector<std::uint32_t> late_lines;
  bool operator==(const ScriptHeader&) const = default;
};

// Reads lines such as "#TUTTI --cpus 4 --time 1h  # comment" that stand before the first line that
// is neither blank nor a comment. Only "#TUTTI" at the very start of a line, followed by a blank,
// is a directive. Fails, naming the line, on an open quote, on text that is no flag, and on a NUL
// byte.
Result<ScriptHeader> parse_script(std::string_view text);

// Whether the system can execute the text by itself: it begins with "#!" and a program.
bool has_shebang(std::string_view text);

}  // namespace tutti
