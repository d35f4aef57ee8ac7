#include "core/spec/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kMaxDurationUs = std::int64_t{100} * 366 * 86400 * kMillion;
constexpr std::int64_t kMaxMemoryMib = std::int64_t{1} << 40;
constexpr std::int64_t kMaxMilliCpus = 1'000'000'000;

// Larger than all that is taken, also in the smallest unit.
constexpr std::int64_t kTooLarge = 100'000'000'000'000'000;

// A number without sign or exponent, exact to six decimals and at most kTooLarge; `more` is set
// when decimals were cut off.
struct Decimal {
  std::int64_t whole = 0;
  std::int64_t millionths = 0;
  bool more = false;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes a decimal off the front of `text`. Nothing when there is none.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal value;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    value.whole = std::min(value.whole * 10 + (text[at] - '0'), kTooLarge);
  }
  std::size_t digits = at;
  if (at < text.size() && text[at] == '.') {
    std::int64_t place = kMillion / 10;
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++digits) {
      value.millionths += place * (text[at] - '0');
      if (place == 0 && text[at] != '0') value.more = true;
      place /= 10;
    }
  }
  if (digits == 0 || text[at - 1] == '.') return std::nullopt;
  text.remove_prefix(at);
  return value;
}

// value * scale, rounded up; nothing above `max`. scale is at most 10^12, so that the millionths
// cannot overflow.
std::optional<std::int64_t> scaled(const Decimal& value, std::int64_t scale, std::int64_t max) {
  std::int64_t total = 0;
  if (__builtin_mul_overflow(value.whole, scale, &total)) return std::nullopt;
  const std::int64_t part = value.millionths * scale;
  const bool rest = part % kMillion != 0 || value.more;
  const std::int64_t fraction = part / kMillion + (rest ? 1 : 0);
  if (__builtin_add_overflow(total, fraction, &total) || total > max) return std::nullopt;
  return total;
}

Error bad(std::string_view what, std::string_view text, std::string_view why) {
  return invalid_input(std::string(what) + " " + shown(text) + ": " + std::string(why));
}

constexpr std::string_view kMemoryExample =
    "write a number and K, M, G or T, such as 20G or 512M (a bare number is MiB)";

// Kibibytes in one unit of this suffix; nothing when it is unknown.
std::optional<std::int64_t> kib_in(std::string_view suffix) {
  std::string lower(suffix);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower.empty()) return 1024;
  const std::size_t unit = std::string_view("kmgt").find(lower[0]);
  const std::string_view rest = std::string_view(lower).substr(1);
  if (unit == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) {
    return std::nullopt;
  }
  return std::int64_t{1} << (10 * unit);
}

struct TimeUnit {
  std::string_view name;
  std::int64_t microseconds;
};
constexpr std::array<TimeUnit, 7> kTimeUnits = {{
    {"w", 7 * 86400 * kMillion},
    {"d", 86400 * kMillion},
    {"h", 3600 * kMillion},
    {"m", 60 * kMillion},
    {"s", kMillion},
    {"ms", 1000},
    {"us", 1},
}};

constexpr std::string_view kDurationExample =
    "write it as 90s, 1h30m, 2d, 01:30:00 or 1-02:03:04 (a bare number is seconds)";
constexpr std::string_view kDurationTooLong = "is longer than 100 years";

// "1h30m": units fall from left to right, each at most once.
Result<Duration> parse_units(std::string_view text) {
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::optional<Decimal> value = take_decimal(rest);
    if (!value) return bad("duration", text, kDurationExample);
    const auto name_end =
        std::find_if(rest.begin(), rest.end(), [](char c) { return is_digit(c) || c == '.'; });
    const std::string_view name = rest.substr(0, static_cast<std::size_t>(name_end - rest.begin()));
    rest.remove_prefix(name.size());
    const auto unit = std::find_if(kTimeUnits.begin() + next_unit, kTimeUnits.end(),
                                   [&](const TimeUnit& u) { return u.name == name; });
    if (unit == kTimeUnits.end()) return bad("duration", text, kDurationExample);
    next_unit = static_cast<std::size_t>(unit - kTimeUnits.begin()) + 1;
    const std::optional<std::int64_t> part = scaled(*value, unit->microseconds, kMaxDurationUs);
    if (!part || (total += *part) > kMaxDurationUs) return bad("duration", text, kDurationTooLong);
  }
  return Duration(total);
}

// "[days-]hours[:minutes[:seconds]]" with days, "[hours:]minutes:seconds" without.
Result<Duration> parse_clock(std::string_view text) {
  std::string_view rest = text;
  std::int64_t days = 0;
  const std::size_t dash = rest.find('-');
  const bool has_days = dash != std::string_view::npos;
  if (has_days) {
    const std::string_view number = rest.substr(0, dash);
    const auto value = parse_digits(number, 36600);
    if (!value)
      return bad("duration", text, is_digits(number) ? kDurationTooLong : kDurationExample);
    days = static_cast<std::int64_t>(*value);
    rest.remove_prefix(dash + 1);
  }
  std::array<std::int64_t, 3> parts{};
  std::size_t count = 0;
  while (true) {
    const std::size_t colon = rest.find(':');
    const bool leading = count == 0 && !has_days;
    const std::uint64_t most = leading ? 60'000'000 : count == 0 ? 23 : 59;
    const std::string_view number = rest.substr(0, colon);
    const auto value = parse_digits(number, most);
    if (!value && leading && is_digits(number)) return bad("duration", text, kDurationTooLong);
    if (!value || count == parts.size()) return bad("duration", text, kDurationExample);
    parts[count++] = static_cast<std::int64_t>(*value);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  // Two numbers without days are minutes and seconds.
  if (!has_days && count == 2) parts = {0, parts[0], parts[1]};
  const std::int64_t total = ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
  if (total > kMaxDurationUs / kMillion) return bad("duration", text, kDurationTooLong);
  return seconds(total);
}

// value / unit with at most `decimals` digits after the point, cut off, without trailing zeros.
std::string decimal_text(std::int64_t value, std::int64_t unit, int decimals) {
  std::string out = std::to_string(value / unit);
  std::string digits;
  std::int64_t rest = value % unit;
  for (int i = 0; i < decimals; ++i) {
    rest *= 10;
    digits += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits.empty() ? out : out + "." + digits;
}

}  // namespace

Error of_field(std::string_view field, const Error& error) {
  constexpr std::array<std::string_view, 6> kSubjects = {"after", "cpus",   "duration",
                                                         "gpus",  "memory", "share"};
  const std::string& message = error.message;
  const std::size_t length = message.find(" '");
  const std::string name(field);
  if (message.starts_with(name + " ") || message.starts_with(name + ":")) return error;
  const bool of_parser =
      std::find(kSubjects.begin(), kSubjects.end(), message.substr(0, length)) != kSubjects.end();
  return {error.code, name + (of_parser ? message.substr(length) : ": " + message)};
}

Result<MiB> parse_memory(std::string_view text) {
  std::string_view rest = trimmed(text);
  const std::optional<Decimal> value = take_decimal(rest);
  if (!value) return bad("memory", text, kMemoryExample);
  const std::optional<std::int64_t> unit = kib_in(trimmed(rest));
  if (!unit) return bad("memory", text, kMemoryExample);
  const std::optional<std::int64_t> kib = scaled(*value, *unit, kMaxMemoryMib * 1024);
  if (!kib) return bad("memory", text, "is more than any machine has (at most 1048576T)");
  return MiB((*kib + 1023) / 1024);
}

Result<MilliCpu> parse_cpus(std::string_view text) {
  constexpr std::string_view kExample = "write a number of cores such as 2, 0.5 or 500m";
  std::string_view rest = trimmed(text);
  const std::optional<Decimal> value = take_decimal(rest);
  if (!value || !(rest.empty() || rest == "m")) return bad("cpus", text, kExample);
  const auto milli = scaled(*value, rest == "m" ? 1 : 1000, kMaxMilliCpus);
  if (!milli) return bad("cpus", text, "is more than any machine has (at most 1000000)");
  if (*milli == 0) return bad("cpus", text, "must be more than zero, such as 1 or 0.5");
  return MilliCpu(*milli);
}

Result<Duration> parse_duration(std::string_view text) {
  const std::string_view body = trimmed(text);
  if (body.empty()) return bad("duration", text, kDurationExample);
  if (body.find(':') != std::string_view::npos || body.find('-') != std::string_view::npos) {
    return parse_clock(body);
  }
  const bool bare = body.find_first_not_of("0123456789.") == body.npos;
  if (bare) return parse_units(std::string(body) + "s");
  return parse_units(body);
}

Result<MilliGpu> parse_share(std::string_view text) {
  constexpr std::string_view kExample = "write a part of one GPU such as 0.5 or 50%";
  std::string_view rest = trimmed(text);
  const std::optional<Decimal> value = take_decimal(rest);
  if (!value || !(rest.empty() || rest == "%")) return bad("share", text, kExample);
  const auto milli = scaled(*value, rest == "%" ? 10 : 1000, 1000);
  if (!milli || *milli == 0) return bad("share", text, "must be more than 0 and at most 1");
  return MilliGpu(*milli);
}

Result<std::int32_t> parse_priority(std::string_view text) {
  std::string_view digits = trimmed(text);
  const bool negative = !digits.empty() && digits[0] == '-';
  if (negative || (!digits.empty() && digits[0] == '+')) digits.remove_prefix(1);
  const auto value = parse_digits(digits, kMaxPriority);
  if (!value) {
    return bad("priority", text, "write a whole number from -1000000 to 1000000, such as 10");
  }
  const auto number = static_cast<std::int32_t>(*value);
  return negative ? -number : number;
}

Result<std::uint32_t> parse_count(std::string_view what, std::string_view text, std::uint32_t least,
                                  std::uint32_t most) {
  const auto value = parse_digits(trimmed(text), most);
  if (!value || *value < least) {
    return bad(
        what, text,
        "write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<std::uint32_t>(*value);
}

Result<PortRange> parse_port_range(std::string_view text) {
  constexpr std::uint32_t kLeastPort = 1024;
  constexpr std::uint32_t kMostPort = 65535;
  const std::size_t dash = text.find('-');
  if (dash == text.npos)
    return invalid_input("ports " + shown(text) + ": write FIRST-LAST, such as 20000-29999");
  const auto first = parse_count("ports", text.substr(0, dash), kLeastPort, kMostPort);
  if (!first) return first.error();
  const auto last = parse_count("ports", text.substr(dash + 1), kLeastPort, kMostPort);
  if (!last) return last.error();
  if (*last < *first)
    return invalid_input("ports " + shown(text) + ": the last comes before the first");
  return PortRange{*first, *last};
}

Result<DeviceRequest> parse_gpus(std::string_view text) {
  constexpr std::string_view kExample = "write a number, a type or both: 2, A100 or A100:2";
  const std::string_view body = trimmed(text);
  const std::size_t colon = body.rfind(':');
  DeviceRequest request;
  request.count = 1;
  const bool only_number = is_digits(body);
  if (only_number || colon != std::string_view::npos) {
    const std::string_view number = only_number ? body : body.substr(colon + 1);
    const auto count = parse_digits(number, 4096);
    if (!count && is_digits(number))
      return bad("gpus", text, "is more than any machine has (at most 4096)");
    if (!count) return bad("gpus", text, kExample);
    request.count = static_cast<std::uint32_t>(*count);
  }
  if (only_number) return request;
  request.type = body.substr(0, colon);
  const bool plain = std::all_of(request.type.begin(), request.type.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (request.type.empty() || request.type[0] == '-' || !plain) return bad("gpus", text, kExample);
  return request;
}

std::string format_memory(MiB memory) {
  constexpr std::int64_t kGib = 1024;
  constexpr std::int64_t kTib = 1024 * 1024;
  if (memory.value == 0) return "-";
  if (memory.value < kGib) return std::to_string(memory.value) + "M";
  if (memory.value < kTib) return decimal_text(memory.value, kGib, 1) + "G";
  return decimal_text(memory.value, kTib, 1) + "T";
}

std::string format_cpus(MilliCpu cpus) {
  return decimal_text(cpus.value, 1000, 3);
}

std::string format_duration(Duration duration) {
  const std::int64_t us = duration.value;
  if (us < 0) return "-" + format_duration(Duration(us == INT64_MIN ? INT64_MAX : -us));
  if (us == 0) return "0s";
  if (us < 1000) return std::to_string(us) + "us";
  if (us < kMillion) return std::to_string(us / 1000) + "ms";
  if (us < 10 * kMillion) return decimal_text(us, kMillion, 1) + "s";
  constexpr std::array<TimeUnit, 4> kUnits = {{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}};
  const std::int64_t total = us / kMillion;
  std::size_t i = 0;
  while (total < kUnits[i].microseconds) ++i;
  std::string out = std::to_string(total / kUnits[i].microseconds) + std::string(kUnits[i].name);
  if (i + 1 == kUnits.size()) return out;
  const std::int64_t rest = total % kUnits[i].microseconds / kUnits[i + 1].microseconds;
  return rest == 0 ? out : out + std::to_string(rest) + std::string(kUnits[i + 1].name);
}

}  // namespace tutti
