#pragma once

#include <string>
#include <string_view>

namespace tutti {

// The text as one word of a POSIX shell, whatever it contains but a zero byte, which no argument of
// a program can contain: to have one is a bug of the caller. Everything of a user that reaches a
// shell goes through here.
std::string shell_quoted(std::string_view text);

}  // namespace tutti
