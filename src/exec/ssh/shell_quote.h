#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// The text as one word of a POSIX shell, whatever it contains but a zero byte, which no argument of
// a program can contain: to have one is a bug of the caller. Everything of a user that reaches a
// shell goes through here.
std::string shell_quoted(std::string_view text);

// Words as a line for a POSIX shell; empty if there are none.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace tutti
