#include "core/spec/machine.h"

#include <algorithm>
#include <optional>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kMaxAddressBytes = 512;
constexpr std::size_t kMaxWordBytes = 128;
constexpr std::uint64_t kMaxGpu = 255;
constexpr std::uint64_t kMaxPort = 65535;
constexpr std::uint64_t kMaxHostNumber = 999'999'999;

Error bad_address(std::string_view text, std::string_view why) {
  return invalid_input("machine " + shown(text) + ": " + std::string(why));
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool consists_of(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](char c) {
    return is_word(c) || others.find(c) != std::string_view::npos;
  });
}

Result<void> check_part(std::string_view text, std::string_view part, std::string_view what,
                        std::string_view others) {
  if (part.empty()) return bad_address(text, "the " + std::string(what) + " is empty");
  if (part.front() == '-') {
    return bad_address(
        text, "the " + std::string(what) + " begins with a dash, as an option of ssh does");
  }
  if (!consists_of(part, others)) {
    return bad_address(text, "the " + std::string(what) +
                                 " has other characters than letters, digits and " +
                                 std::string(others) + "; give it a name in ~/.ssh/config");
  }
  return {};
}

// The host with its port, behind "user@".
struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;
  bool bracketed = false;
};

Result<HostAndPort> split_place(std::string_view text, std::string_view place) {
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    if (end == std::string_view::npos) return bad_address(text, "the bracket is not closed");
    const std::string_view rest = place.substr(end + 1);
    HostAndPort out{place.substr(1, end - 1), std::nullopt, true};
    if (out.host.find(':') == std::string_view::npos) {
      return bad_address(text, "brackets are for IPv6 addresses, such as [fe80::1]:22");
    }
    if (rest.empty()) return out;
    if (rest.front() != ':') return bad_address(text, "only :PORT may follow the bracket");
    out.port = rest.substr(1);
    return out;
  }
  const std::size_t colon = place.find(':');
  if (colon == std::string_view::npos) return HostAndPort{place, std::nullopt, false};
  if (place.find(':', colon + 1) != std::string_view::npos) {
    return bad_address(text, "write an IPv6 address in brackets, such as [fe80::1]:22");
  }
  return HostAndPort{place.substr(0, colon), place.substr(colon + 1), false};
}

// The numbers of one piece of a list, "3" or "01-16", as text.
Result<std::vector<std::string>> numbers_of(std::string_view pattern, std::string_view piece) {
  const std::size_t dash = piece.find('-');
  const std::string_view first_text = piece.substr(0, dash);
  const std::string_view last_text =
      dash == std::string_view::npos ? first_text : piece.substr(dash + 1);
  const auto first = parse_digits(first_text, kMaxHostNumber);
  const auto last = parse_digits(last_text, kMaxHostNumber);
  if (!first || !last) {
    return bad_address(pattern, "write numbers in brackets, such as box[01-16] or box[1,3-5]");
  }
  const bool padded = first_text.size() > 1 && first_text.front() == '0';
  if (last_text.size() < first_text.size() || *last < *first) {
    return bad_address(pattern, shown(piece) + " ends before it begins");
  }
  if (*last - *first >= kMaxMachines) {
    return bad_address(pattern, "names more than " + std::to_string(kMaxMachines) + " machines");
  }
  std::vector<std::string> out;
  for (std::uint64_t number = *first; number <= *last; ++number) {
    std::string digits = std::to_string(number);
    if (padded && digits.size() < first_text.size()) {
      digits.insert(0, first_text.size() - digits.size(), '0');
    }
    out.push_back(std::move(digits));
  }
  return out;
}

// All numbers of one list, "1,3-5".
Result<std::vector<std::string>> list_of(std::string_view pattern, std::string_view list) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = list.find(',');
    const auto numbers = numbers_of(pattern, list.substr(0, comma));
    if (!numbers) return numbers.error();
    out.insert(out.end(), numbers->begin(), numbers->end());
    if (out.size() > kMaxMachines) {
      return bad_address(pattern, "names more than " + std::to_string(kMaxMachines) + " machines");
    }
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

// Every text so far with every number behind it.
Result<std::vector<std::string>> multiplied(std::string_view pattern,
                                            const std::vector<std::string>& before,
                                            const std::vector<std::string>& numbers) {
  if (before.size() * numbers.size() > kMaxMachines) {
    return bad_address(pattern, "names more than " + std::to_string(kMaxMachines) + " machines");
  }
  std::vector<std::string> out;
  for (const std::string& text : before) {
    for (const std::string& number : numbers) out.push_back(text + number);
  }
  return out;
}

}  // namespace

Result<MachineAddress> parse_machine_address(std::string_view text) {
  if (text.empty()) return bad_address(text, "is empty; write user@host, such as ada@box1");
  if (text.size() > kMaxAddressBytes) return bad_address(text, "is too long");
  std::string_view rest = text;
  if (rest.starts_with("ssh://")) {
    rest.remove_prefix(6);
    if (rest.ends_with('/')) rest.remove_suffix(1);
  }
  MachineAddress address;
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = rest.substr(0, at);
    if (const auto good = check_part(text, user, "user", "._-+@"); !good) return good.error();
    address.user = user;
    rest.remove_prefix(at + 1);
  }
  const auto place = split_place(text, rest);
  if (!place) return place.error();
  const std::string_view allowed = place->bracketed ? ".:%_-" : "._-";
  if (const auto good = check_part(text, place->host, "host", allowed); !good) return good.error();
  address.host = place->host;
  if (!place->port) return address;
  const auto port = parse_digits(*place->port, kMaxPort);
  if (!port || *port == 0) {
    return bad_address(text, "the port must be a number from 1 to 65535");
  }
  address.port = static_cast<std::uint32_t>(*port);
  return address;
}

std::string format_machine_address(const MachineAddress& address) {
  std::string out = address.user.empty() ? "" : address.user + "@";
  const bool brackets = address.host.find(':') != std::string::npos;
  out += brackets ? "[" + address.host + "]" : address.host;
  if (address.port != 0) out += ":" + std::to_string(address.port);
  return out;
}

Result<std::vector<std::string>> expand_machines(std::string_view pattern) {
  if (pattern.size() > kMaxAddressBytes) return bad_address(pattern, "is too long");
  std::vector<std::string> out = {""};
  std::string_view rest = pattern;
  while (true) {
    const std::size_t open = rest.find('[');
    const std::size_t close = rest.find(']', open);
    for (std::string& text : out) text += rest.substr(0, open);
    if (open == std::string_view::npos) return out;
    if (close == std::string_view::npos) {
      return bad_address(pattern, "the bracket is not closed");
    }
    const std::string_view list = rest.substr(open + 1, close - open - 1);
    std::vector<std::string> pieces = {"[" + std::string(list) + "]"};
    if (list.find(':') == std::string_view::npos) {
      auto numbers = list_of(pattern, list);
      if (!numbers) return numbers;
      pieces = *std::move(numbers);
    }
    auto more = multiplied(pattern, out, pieces);
    if (!more) return more;
    out = *std::move(more);
    rest.remove_prefix(close + 1);
  }
}

std::string machine_name(const MachineAddress& address) {
  std::string name = address.host;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '%'; }, '-');
  // An IPv6 address may begin with colons; a name that begins with a dash is taken for an option.
  return name.starts_with('-') ? "ip" + name : name;
}

Result<void> check_machine_word(std::string_view what, std::string_view word) {
  const std::string whole = std::string(what) + " " + shown(word) + ": ";
  if (word.empty() || word.size() > kMaxWordBytes) {
    return invalid_input(whole + "must have from 1 to " + std::to_string(kMaxWordBytes) + " bytes");
  }
  if (word.front() == '-') return invalid_input(whole + "must not begin with a dash");
  if (first_invalid_utf8(word) || first_control_character(word) ||
      word.find_first_of(" ,|/%") != std::string_view::npos) {
    return invalid_input(whole + "must have no blank, comma, bar, slash or percent sign");
  }
  return {};
}

Result<std::string> label_of_places(std::string_view text) {
  std::string label;
  for (const std::string_view name : split_commas(text)) {
    if (const auto good = check_machine_word("on", name); !good) return good.error();
    label += (label.empty() ? "" : "|") + std::string(name);
  }
  return label;
}

Result<void> check_gpu_list(std::string_view text) {
  if (text.empty() || text == "none") return {};
  for (const std::string_view number : split_commas(text)) {
    if (!parse_digits(number, kMaxGpu)) {
      return invalid_input("gpus " + shown(text) + ": write numbers such as 0,2, or none");
    }
  }
  return {};
}

}  // namespace tutti
