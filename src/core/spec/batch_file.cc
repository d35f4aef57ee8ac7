#include "core/spec/batch_file.h"

#include "core/spec/array_range.h"
#include "core/spec/command_line.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Walks the lines of a text without their ends.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    ++number_;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }
  std::uint32_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::uint32_t number_ = 0;
};

Error at_line(std::uint32_t number, const std::string& why) {
  return invalid_input("line " + std::to_string(number) + ": " + why);
}

Error nul_at(std::uint32_t number) {
  return at_line(number, "has a NUL byte; a batch file is text, one command per line");
}

Error too_many(std::uint32_t number) {
  return at_line(number,
                 "a batch has at most " + std::to_string(kMaxTasks) + " commands; split the file");
}

// An even number of backslashes at the end is that many escaped backslashes.
bool continues(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  const std::size_t backslashes = last == line.npos ? line.size() : line.size() - last - 1;
  return backslashes % 2 == 1;
}

// Joins the lines that follow a backslash.
Result<std::string> join_continued(LineReader& reader, std::string_view line) {
  std::string command(line);
  const std::uint32_t first = reader.number();
  while (continues(line)) {
    command.pop_back();
    if (!reader.next(line)) return at_line(first, "ends in a backslash, but the file ends there");
    if (line.find('\0') != line.npos) return nul_at(reader.number());
    command += line;
  }
  return command;
}

// Where a {} of a template stands, as far as it matters for quoting.
enum class Place { kPlain, kSingleQuotes, kAnsiQuotes, kDoubleQuotes };

// Follows the quoting of a template from left to right.
class PlaceTracker {
 public:
  // Moves past `text[at]` (and what it escapes); gives the next position.
  std::size_t step(std::string_view text, std::size_t at) {
    const char c = text[at];
    const bool escapes = c == '\\' && place_ != Place::kSingleQuotes;
    switch (place_) {
      case Place::kPlain:
        enter(text, at);
        break;
      case Place::kSingleQuotes:
      case Place::kAnsiQuotes:
        if (c == '\'') place_ = Place::kPlain;
        break;
      case Place::kDoubleQuotes:
        if (c == '"') place_ = Place::kPlain;
        if (c == '`') backquoted_ = !backquoted_;
        break;
    }
    dollar_ = c == '$' && place_ == Place::kPlain && !dollar_;
    return escapes && at + 1 < text.size() ? at + 2 : at + 1;
  }
  // A dollar sign would give the quotes that follow it another meaning.
  bool safe() const { return place_ == Place::kPlain && !backquoted_ && !comment_ && !dollar_; }

 private:
  void enter(std::string_view text, std::size_t at) {
    const char c = text[at];
    const char before = at == 0 ? ' ' : text[at - 1];
    if (c == '\'') place_ = dollar_ ? Place::kAnsiQuotes : Place::kSingleQuotes;
    if (c == '"') place_ = Place::kDoubleQuotes;
    if (c == '`') backquoted_ = !backquoted_;
    const bool word_starts = std::string_view(" \t;&|()`").find(before) != std::string_view::npos;
    if (c == '#' && word_starts) comment_ = true;
  }
  Place place_ = Place::kPlain;
  bool backquoted_ = false;
  bool comment_ = false;
  bool dollar_ = false;  // the last character was an unquoted $
};

}  // namespace

Result<BatchFile> parse_batch_file(std::string_view text) {
  BatchFile batch;
  LineReader reader(text);
  std::string_view line;
  while (reader.next(line)) {
    const std::uint32_t number = reader.number();
    if (line.find('\0') != line.npos) return nul_at(number);
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == line.npos || line[start] == '#') continue;
    Result<std::string> command = join_continued(reader, line.substr(start));
    if (!command) return command.error();
    if (trimmed(*command).empty()) continue;
    if (batch.lines.size() == kMaxTasks) return too_many(number);
    batch.lines.push_back(*std::move(command));
    batch.line_numbers.push_back(number);
  }
  return batch;
}

Result<BatchFile> parse_each_line(std::string_view text, std::string_view line_template) {
  BatchFile batch;
  LineReader reader(text);
  std::string_view line;
  while (reader.next(line)) {
    if (line.find('\0') != line.npos) return nul_at(reader.number());
    if (line.empty()) continue;
    if (batch.lines.size() == kMaxTasks) return too_many(reader.number());
    Result<std::string> command = expand_template(line_template, line);
    if (!command) return command.error();
    batch.lines.push_back(*std::move(command));
    batch.line_numbers.push_back(reader.number());
  }
  return batch;
}

Result<std::string> expand_template(std::string_view line_template, std::string_view value) {
  const auto bad = [&](const char* why) {
    return invalid_input("template " + shown(line_template) + ": " + why);
  };
  if (trimmed(line_template).empty()) return bad("is empty; write a command such as 'gzip {}'");
  if (line_template.find_first_of(std::string_view("\n\0", 2)) != line_template.npos) {
    return bad("must be one line of text");
  }
  if (value.find('\0') != value.npos) return invalid_input("value has a NUL byte");
  const auto word_for = [&](std::size_t begin, std::size_t end) {
    const bool starts = begin == 0 || line_template[begin - 1] == ' ';
    const bool ends = end == line_template.size() || line_template[end] == ' ';
    // Next to other text a bare word could become part of it, such as of a variable's name.
    return starts && ends ? shell_quote(value) : single_quoted(value);
  };
  std::string out;
  PlaceTracker tracker;
  bool replaced = false;
  for (std::size_t at = 0; at < line_template.size();) {
    const bool here = line_template.substr(at, 2) == "{}";
    if (here && !tracker.safe()) {
      return bad(
          "{} stands in quotes, backquotes or a comment or after $; write it bare, it is quoted "
          "for "
          "you");
    }
    const std::size_t next = here ? at + 2 : tracker.step(line_template, at);
    if (here) {
      out += word_for(at, next);
    } else {
      out += line_template.substr(at, next - at);
    }
    replaced = replaced || here;
    at = next;
  }
  if (replaced) return out;
  if (!tracker.safe()) return bad("a quote, a backquote, a comment or a $ is open at its end");
  return out + " " + shell_quote(value);
}

}  // namespace tutti
