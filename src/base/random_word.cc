#include "base/random_word.h"

#include <sys/random.h>

#include <array>

#include "base/check.h"
#include "base/hex.h"

namespace tutti {

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  TUTTI_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return hex_of(bytes);
}

}  // namespace tutti
