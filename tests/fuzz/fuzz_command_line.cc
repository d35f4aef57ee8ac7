// Command lines and quoting. Invariants: a quoted text is one word that reads back as itself; a
// line that needs no shell, written from its words, gives the same words again; otherwise the line
// itself is what the shell gets.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/command_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  for (const std::string& quoted : {shell_quote(text), single_quoted(text)}) {
    const auto words = split_words(quoted);
    TUTTI_CHECK(words && words->size() == 1 && words->front() == text);
    const auto embedded = split_words("a " + quoted + "b");
    TUTTI_CHECK(embedded && embedded->size() == 2 && (*embedded)[1] == std::string(text) + "b");
  }

  const Command command = command_of_line(text);
  if (command.argv.empty()) {
    TUTTI_CHECK(command.shell == text);
    return 0;
  }
  TUTTI_CHECK(command.shell.empty());
  const std::string joined = shell_join(command.argv);
  const auto words = split_words(joined);
  TUTTI_CHECK(words && *words == command.argv);
  // A single quote inside a word is written with a backslash, which is the shell's business.
  const bool has_quote =
      std::any_of(command.argv.begin(), command.argv.end(),
                  [](const std::string& word) { return word.find('\'') != std::string::npos; });
  if (!has_quote) TUTTI_CHECK(command_of_line(joined).argv == command.argv);
  return 0;
}
