// Batch files. Invariants: every command has a number, numbers rise, no command is blank or holds
// NUL; a file written from the commands reads back as the same commands; a quoted argument of
// --each-line comes out of the shell's word splitting as it went in.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/batch_file.h"
#include "core/spec/command_line.h"

namespace {

void check_batch(std::string_view text) {
  using namespace tutti;
  const auto batch = parse_batch_file(text);
  if (!batch) {
    TUTTI_CHECK(batch.error().message.starts_with("line "));
    return;
  }
  TUTTI_CHECK(batch->lines.size() == batch->line_numbers.size());
  std::string written;
  for (std::size_t i = 0; i < batch->lines.size(); ++i) {
    const std::string& line = batch->lines[i];
    TUTTI_CHECK(i == 0 || batch->line_numbers[i] > batch->line_numbers[i - 1]);
    TUTTI_CHECK(line.find_first_not_of(" \t") != std::string::npos);
    TUTTI_CHECK(line.find_first_of(std::string_view("\n\0", 2)) == std::string::npos);
    // A carriage return or a comment mark that joining brought to the edge would read otherwise.
    if (line.ends_with('\r') || line.starts_with("\xEF\xBB\xBF")) return;
    if (line[line.find_first_not_of(" \t")] == '#' || line[0] == ' ' || line[0] == '\t') return;
    written += line + "\n";
  }
  const auto again = parse_batch_file(written);
  TUTTI_CHECK(again && again->lines == batch->lines);
}

void check_each_line(std::string_view text) {
  using namespace tutti;
  const auto batch = parse_each_line(text, "run {} end");
  if (!batch) return;
  for (const std::string& line : batch->lines) {
    const auto words = split_words(line);
    TUTTI_CHECK(words && words->size() == 3);
    TUTTI_CHECK(text.find((*words)[1]) != std::string_view::npos);
  }
}

// A template that is taken must put the value in as one piece that the shell does not open.
void check_template(std::string_view line_template) {
  using namespace tutti;
  const auto marked = expand_template(line_template, "x y");
  if (!marked) return;
  TUTTI_CHECK(marked->find("'x y'") != std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_batch(text);
  check_each_line(text);
  check_template(text);
  return 0;
}
