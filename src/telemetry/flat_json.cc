#include "telemetry/flat_json.h"

#include <cctype>

namespace tutti {
namespace {

using Table = std::vector<std::pair<std::string, FlatObject>>;

// Reads from the front; after a mistake it stays at that place and everything else fails too.
class FlatReader {
 public:
  explicit FlatReader(std::string_view text) : text_(text) {}

  Result<Table> table() {
    Table rows;
    object([&] {
      rows.emplace_back(string(), FlatObject{});
      FlatObject& row = rows.back().second;
      expect(':');
      object([&] {
        row.emplace_back(string(), "");
        expect(':');
        row.back().second = value();
      });
    });
    blanks();
    if (at_ < text_.size()) fail("text after the end");
    if (!mistake_.empty()) {
      return Error{ErrorCode::kInvalidInput,
                   "at byte " + std::to_string(at_ + 1) + ": " + mistake_};
    }
    return rows;
  }

 private:
  bool failed() const { return !mistake_.empty(); }
  void fail(const char* how) {
    if (mistake_.empty()) mistake_ = how;
  }
  void blanks() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos) {
      ++at_;
    }
  }
  bool next_is(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  void expect(char c) {
    if (failed()) return;
    if (!next_is(c)) return fail((std::string("no '") + c + "' where it must stand").c_str());
    ++at_;
  }

  template <typename Member>
  void object(const Member& member) {
    expect('{');
    if (!failed() && next_is('}')) {
      ++at_;
      return;
    }
    while (!failed()) {
      member();
      if (failed()) return;
      if (!next_is(',')) return expect('}');
      ++at_;
    }
  }

  std::string string() {
    std::string out;
    expect('"');
    while (!failed()) {
      if (at_ >= text_.size()) {
        fail("a string without end");
        break;
      }
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < ' ') {
        fail("a control character in a string");
        break;
      }
      ++at_;
      if (c == '"') break;
      if (c == '\\') {
        escape(out);
      } else {
        out += c;
      }
    }
    return out;
  }

  void escape(std::string& out) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t known = kNames.find(c); c != '\0' && known != std::string_view::npos) {
      out += kMeanings[known];
      ++at_;
      return;
    }
    const std::string_view digits = text_.substr(at_ < text_.size() ? at_ + 1 : at_, 4);
    const bool hex = c == 'u' && digits.size() == 4 &&
                     digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (!hex) return fail("an unknown escape in a string");
    const unsigned long code = std::stoul(std::string(digits), nullptr, 16);
    // Names of GPUs are ASCII; what else there may be is not worth more than a mark.
    out += code < 128 ? static_cast<char>(code) : '?';
    at_ += 5;
  }

  std::string value() {
    if (next_is('"')) return string();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    std::string word(text_.substr(begin, at_ - begin));
    const bool number =
        !word.empty() &&
        (word[0] == '-' || std::isdigit(static_cast<unsigned char>(word[0])) != 0) &&
        word.find_first_not_of("0123456789+-.eE") == std::string::npos;
    if (!number && word != "null" && word != "true" && word != "false") {
      at_ = begin;
      fail("a value that is neither text, number, true, false nor null");
    }
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string mistake_;
};

}  // namespace

Result<Table> parse_flat_json(std::string_view text) {
  return FlatReader(text).table();
}

}  // namespace tutti
