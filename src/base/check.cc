#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tutti {

void check_failed(const char* file, int line, std::string_view what) {
  std::fprintf(stderr, "tutti: bug at %s:%d: %.*s\n", file, line, static_cast<int>(what.size()),
               what.data());
  std::abort();
}

}  // namespace tutti
