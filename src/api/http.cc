#include "api/http.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/nearest.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return 400;
    case ErrorCode::kDenied:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kTimeout:
      return 504;
    case ErrorCode::kExhausted:
      return 507;
    default:
      return 500;
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return invalid_input("the address has a % that is not followed by two hex digits");
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// Cuts the part before `mark` off the front of `text`.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

Result<void> add_query(std::string_view pair, Target& target) {
  const std::string_view name_text = take_until(pair, '=');
  auto name = percent_decoded(name_text);
  auto value = percent_decoded(pair);
  if (!name) return name.error();
  if (!value) return value.error();
  for (const auto& [known, ignored] : target.queries) {
    if (known == *name) return invalid_input("the parameter " + shown(*name) + " is given twice");
  }
  target.queries.emplace_back(std::move(*name), std::move(*value));
  return {};
}

}  // namespace

HttpResponse json_response(int status, const json::value& value) {
  HttpResponse response;
  response.status = status;
  response.body = json_text(value) + "\n";
  return response;
}

HttpResponse error_response(const Error& error) {
  return error_response(status_of(error.code), error);
}

HttpResponse error_response(int status, const Error& error) {
  return json_response(status, error_to_json(error));
}

std::optional<std::string> Target::query(std::string_view name) const {
  for (const auto& [known, value] : queries) {
    if (known == name && !value.empty()) return value;
  }
  return std::nullopt;
}

Result<void> Target::named(std::string_view name) const {
  for (const auto& [known, value] : queries) {
    if (known == name && value.empty())
      return invalid_input(std::string(name) + "= names nothing; leave it out to get all");
  }
  return {};
}

Result<void> Target::allow_only(std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : queries) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::vector<std::string_view> names(known);
      return invalid_input("unknown parameter " + shown(name) + did_you_mean(name, names));
    }
  }
  return {};
}

Result<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') {
    return invalid_input("the address must begin with a slash");
  }
  std::string_view query = text;
  std::string_view path = take_until(query, '?');
  path.remove_prefix(1);
  Target target;
  while (!path.empty()) {
    auto segment = percent_decoded(take_until(path, '/'));
    if (!segment) return segment.error();
    target.segments.push_back(std::move(*segment));
  }
  while (!query.empty()) {
    const std::string_view pair = take_until(query, '&');
    if (pair.empty()) continue;
    const auto added = add_query(pair, target);
    if (!added) return added.error();
    if (target.queries.size() > 32) return invalid_input("the address has too many parameters");
  }
  return target;
}

Result<std::optional<std::uint64_t>> query_number(const Target& target, std::string_view name,
                                                  std::uint64_t least, std::uint64_t most) {
  const auto text = target.query(name);
  if (!text) return std::optional<std::uint64_t>();
  const auto number = parse_digits(*text, most);
  if (!number || *number < least) {
    return invalid_input(std::string(name) + "=" + shown(*text) + ": a whole number from " +
                         std::to_string(least) + " to " + std::to_string(most) + " is wanted");
  }
  return number;
}

Result<bool> query_flag(const Target& target, std::string_view name) {
  const auto text = target.query(name);
  if (!text || *text == "0" || *text == "false") return false;
  if (*text == "1" || *text == "true") return true;
  return invalid_input(std::string(name) + "=" + shown(*text) + ": 0 or 1 is wanted");
}

}  // namespace tutti
