#include "wire/batch_json.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/nearest.h"
#include "core/spec/batch_file.h"
#include "core/spec/command_line.h"
#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// How a word is quoted: bare where it can be, or in quotes always, because it stands beside text.
using Quote = std::string (*)(std::string_view);

bool is_number_as_written(const json::value& value) {
  return value.is_string() && value.get_string().starts_with(kAsWritten);
}

// As JSON text, numbers as they were written.
std::string as_written(const json::value& value) {
  const std::string text = json_text(value);
  const std::string marked{'"', kAsWritten};
  std::string out;
  std::size_t at = 0;
  for (std::size_t mark = 0; (mark = text.find(marked, at)) != text.npos;) {
    const std::size_t end = text.find('"', mark + 1);
    out.append(text, at, mark - at).append(text, mark + 2, end - mark - 2);
    at = end + 1;
  }
  return out.append(text, at);
}

// Text that is not UTF-8.
bool is_encoded(const json::value& value) {
  const auto* object = value.if_object();
  return object != nullptr && object->size() == 1 && object->contains("base64");
}

// One value as words for a shell: scalars and objects are one word, an array one for each element.
Result<std::string> shell_words(const json::value& value, std::string_view key, Quote quote) {
  if (const auto* array = value.if_array()) {
    std::string words;
    for (const auto& element : *array) {
      auto word = shell_words(element, key, quote);
      if (!word) return word;
      if (!words.empty()) words += ' ';
      words += *word;
    }
    return words;
  }
  if (value.is_null()) return quote("");
  if (is_number_as_written(value) || (!value.is_string() && !is_encoded(value)))
    return quote(as_written(value));
  auto word = word_from_json(value, shown(key));
  if (!word) return word;
  return quote(*word);
}

std::size_t key_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const char c = text[length];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool later = (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!letter && !(later && length > 0)) break;
    ++length;
  }
  return length;
}

// A piece of a pattern: literal text, or the key of a place.
struct Piece {
  std::string_view text;
  bool key = false;
};

// Cuts a pattern at its places. `{{key}}` is literal but for one pair of braces.
std::vector<Piece> pieces_of(std::string_view pattern) {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  const auto literal = [&](std::size_t end) {
    if (end > begin) pieces.push_back({pattern.substr(begin, end - begin)});
  };
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') continue;
    const bool doubled = pattern.substr(at, 2) == "{{";
    const std::size_t first = at + (doubled ? 2 : 1);
    const std::size_t length = first < pattern.size() ? key_length(pattern.substr(first)) : 0;
    const std::string_view closing = doubled ? "}}" : "}";
    const bool of_shell = at > 0 && pattern[at - 1] == '$';
    if (length == 0 || of_shell || pattern.substr(first + length, closing.size()) != closing) {
      continue;
    }
    literal(at);
    const std::size_t end = first + length + closing.size();
    pieces.push_back(doubled ? Piece{pattern.substr(at + 1, length + 2)}
                             : Piece{pattern.substr(first, length), true});
    begin = end;
    at = end - 1;
  }
  literal(pattern.size());
  return pieces;
}

bool has_keys(const std::vector<Piece>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.key; });
}

// Refuses places where quoting would not hold, such as inside quotes: as expand_template does. And
// a pattern without any, whose every task would be the same.
Result<void> check_places(std::string_view pattern) {
  const auto pieces = pieces_of(pattern);
  if (!has_keys(pieces)) {
    const auto expanded = expand_template(pattern, "x");
    if (!expanded) return expanded.error();
    if (pattern.find("{}") != pattern.npos) return {};
    return invalid_input("the template " + shown(pattern) +
                         " has no place for values: {key} stands for that of a key, {} for an "
                         "element that is a single value");
  }
  std::string skeleton;
  for (const Piece& piece : pieces) {
    if (piece.key) {
      skeleton += "{}";
      continue;
    }
    for (const char c : piece.text) skeleton += c == '{' || c == '}' ? '_' : c;
  }
  const auto expanded = expand_template(skeleton, "x");
  if (expanded) return {};
  return invalid_input("the pattern " + shown(pattern) +
                       " must be one line, and its {key} places must stand outside of quotes, "
                       "backquotes and comments: values are quoted for you");
}

Result<std::string> value_for(const json::object& object, std::string_view key, Quote quote) {
  if (const auto* value = object.if_contains(key)) return shell_words(*value, key, quote);
  std::vector<std::string_view> known;
  for (const auto& member : object) known.emplace_back(member.key());
  return invalid_input("it has no key " + shown(key) + ", which the pattern uses" +
                       did_you_mean(key, known));
}

Result<std::string> filled(std::string_view pattern, const json::object& object) {
  const auto pieces = pieces_of(pattern);
  std::string line;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].key) {
      line += pieces[i].text;
      continue;
    }
    const bool starts = i == 0 || (!pieces[i - 1].key && pieces[i - 1].text.back() == ' ');
    const bool ends =
        i + 1 == pieces.size() || (!pieces[i + 1].key && pieces[i + 1].text.front() == ' ');
    auto value = value_for(object, pieces[i].text, starts && ends ? shell_quote : single_quoted);
    if (!value) return value;
    line += *value;
  }
  return line;
}

// With a pattern data is never a command.
Result<std::string> filled(std::string_view pattern, const json::value& element) {
  const bool keys = has_keys(pieces_of(pattern));
  const auto* object = element.if_object();
  if (keys && object != nullptr) return filled(pattern, *object);
  if (keys)
    return invalid_input("--template with {key} places needs objects with keys, not " +
                         shown(as_written(element)));
  if (element.is_array() || (object != nullptr && !is_encoded(element)))
    return invalid_input("--template with {} needs single values, not " +
                         shown(as_written(element)) + "; name keys of objects, as in {key}");
  const bool text = element.is_string() || is_encoded(element);
  if (element.is_null()) return expand_template(pattern, "");
  if (!text || is_number_as_written(element)) return expand_template(pattern, as_written(element));
  const auto word = word_from_json(element, "the value");
  return word ? expand_template(pattern, *word) : word;
}

Result<std::string> command_of(const json::value& element, std::string_view pattern) {
  if (!pattern.empty()) return filled(pattern, element);
  if (const auto* object = element.if_object()) {
    const auto* command = object->if_contains("command");
    if (command == nullptr) {
      return invalid_input("an object needs a pattern with {key} places, or a key 'command'");
    }
    return command_of(*command, pattern);
  }
  if (element.is_array()) {
    for (const auto& word : element.get_array())
      if (is_number_as_written(word))
        return invalid_input("the words of a command must be strings: " + as_written(word));
    auto words = words_from_json(element, "the command");
    if (!words) return words.error();
    if (words->empty()) return invalid_input("the command has no words");
    return shell_join(*words);
  }
  if (!element.is_string() || is_number_as_written(element)) {
    return invalid_input("a command must be a string, an array of strings or an object");
  }
  return word_from_json(element, "the command");
}

Result<void> append(const json::value& element, std::string_view pattern, std::string_view where,
                    std::vector<std::string>& lines) {
  auto line = command_of(element, pattern);
  if (!line) return invalid_input(std::string(where) + ": " + line.error().message);
  if (line->find_first_not_of(" \t\r\n") == std::string::npos) {
    return invalid_input(std::string(where) + ": the command is empty");
  }
  lines.push_back(std::move(*line));
  return {};
}

Result<std::vector<std::string>> from_array(const json::array& array, std::string_view pattern) {
  std::vector<std::string> lines;
  lines.reserve(array.size());
  for (const auto& element : array) {
    const auto done =
        append(element, pattern, "element " + std::to_string(lines.size() + 1), lines);
    if (!done) return done.error();
  }
  return lines;
}

Result<std::vector<std::string>> from_lines(std::string_view text, std::string_view pattern) {
  std::vector<std::string> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t length = text.find('\n');
    const std::string_view row = text.substr(0, length);
    text.remove_prefix(length == text.npos ? text.size() : length + 1);
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    const std::string where = "line " + std::to_string(number);
    const auto value = parse_json_as_written(row);
    if (!value) return invalid_input(where + ": " + value.error().message);
    const auto done = append(*value, pattern, where, lines);
    if (!done) return done.error();
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> lines_from_json(std::string_view text, std::string_view pattern) {
  if (!pattern.empty()) {
    const auto checked = check_places(pattern);
    if (!checked) return checked.error();
  }
  const auto whole = parse_json_as_written(text);
  if (whole && whole->is_array()) return from_array(whole->get_array(), pattern);
  if (whole) {
    std::vector<std::string> one;
    const auto done = append(*whole, pattern, "the value", one);
    if (!done) return done.error();
    return one;
  }
  // A broken array that goes over many lines: its first line alone would give a misleading error.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return invalid_input("there is no command in the JSON text");
  if (text[first] == '[' && !parse_json(text.substr(first, text.find('\n', first) - first))) {
    return whole.error();
  }
  return from_lines(text, pattern);
}

}  // namespace tutti
