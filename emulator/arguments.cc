#include "emulator/arguments.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace tutti::emulator {
namespace {

Error wrong(std::string_view option, std::string_view text, const std::string& wanted) {
  return invalid_input(std::string(option) + " '" + std::string(text) + "' is not " + wanted);
}

std::string plain(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return std::string(text, end);
}

std::optional<double> decimal(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

}  // namespace

std::string_view Arguments::next() {
  const std::string_view word = words_.front();
  words_ = words_.subspan(1);
  return word;
}

Result<std::string_view> Arguments::value_of(std::string_view option) {
  if (words_.empty()) return invalid_input(std::string(option) + " needs a value");
  return next();
}

Result<std::uint64_t> parse_bytes(std::string_view option, std::string_view text) {
  constexpr std::string_view units = "KMGT";
  std::string_view number = text;
  if (number.ends_with("iB")) number.remove_suffix(2);
  const std::size_t unit = number.empty() ? units.npos : units.find(number.back());
  const auto count =
      unit == units.npos ? std::nullopt : decimal(number.substr(0, number.size() - 1));
  if (!count || *count < 0 || *count > 1e6)
    return wrong(option, text, "an amount of memory such as 10G, 1.5G or 512M");
  return static_cast<std::uint64_t>(std::ldexp(*count, static_cast<int>(10 * (unit + 1))));
}

Result<double> parse_number(std::string_view option, std::string_view text, double least,
                            double most) {
  const auto number = decimal(text);
  if (!number || *number < least || *number > most)
    return wrong(option, text, "a number from " + plain(least) + " to " + plain(most));
  return *number;
}

Result<int> parse_whole(std::string_view option, std::string_view text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return wrong(option, text,
                 "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

}  // namespace tutti::emulator
