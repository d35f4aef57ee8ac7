#include "base/random_word.h"

#include <sys/random.h>

#include <array>

#include "base/check.h"

namespace tutti {

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  TUTTI_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace tutti
