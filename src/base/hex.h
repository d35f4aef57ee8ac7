#pragma once

#include <span>
#include <string>

namespace tutti {

// Each byte as two lower-case hexadecimal digits.
inline std::string hex_of(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace tutti
