#include <boost/json.hpp>
#include <charconv>

#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

void put_string(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  std::size_t plain = 0;  // where the part begins that needs no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out += text.substr(plain, i - plain);
    plain = i + 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  out += text.substr(plain);
  out += '"';
}

template <typename Number>
void put_number(Number number, std::string& out) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

void put(const json::value& value, std::string& out) {
  switch (value.kind()) {
    case json::kind::null:
      out += "null";
      return;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case json::kind::int64:
      return put_number(value.get_int64(), out);
    case json::kind::uint64:
      return put_number(value.get_uint64(), out);
    case json::kind::double_:
      return put_number(value.get_double(), out);
    case json::kind::string:
      return put_string(value.get_string(), out);
    case json::kind::array: {
      char before = '[';
      for (const auto& element : value.get_array()) {
        out += before;
        put(element, out);
        before = ',';
      }
      out += value.get_array().empty() ? "[]" : "]";
      return;
    }
    case json::kind::object: {
      char before = '{';
      for (const auto& member : value.get_object()) {
        out += before;
        put_string(member.key(), out);
        out += ':';
        put(member.value(), out);
        before = ',';
      }
      out += value.get_object().empty() ? "{}" : "}";
      return;
    }
  }
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  put(value, out);
  return out;
}

}  // namespace tutti
