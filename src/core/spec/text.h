#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// User text for an error message: in single quotes, cut after 60 bytes, with control characters and
// bytes that are not UTF-8 as \xNN, so that a message is always one printable line.
std::string shown(std::string_view text);

// The position of the first byte that is not part of valid UTF-8, or nothing.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// The position of the first control character (below 32, or 127), or nothing.
std::optional<std::size_t> first_control_character(std::string_view text);

// Whether it is decimal digits, however many; not when it is empty.
bool is_digits(std::string_view text);

// Decimal digits only, at most `max`; nothing for everything else.
std::optional<std::uint64_t> parse_digits(std::string_view text, std::uint64_t max);

// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

// The pieces between commas, trimmed; "a,,b" has an empty one.
std::vector<std::string_view> split_commas(std::string_view text);

}  // namespace tutti
