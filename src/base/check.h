#pragma once

#include <string_view>

namespace tutti {

// Ends the process with a message: the program itself is wrong, and going on would do damage.
[[noreturn]] void check_failed(const char* file, int line, std::string_view what);

}  // namespace tutti

// States what must be true for the program to be right. A failure is a bug, never bad input.
#define TUTTI_CHECK(condition)                                        \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::tutti::check_failed(__FILE__, __LINE__, "CHECK " #condition); \
  } while (false)
