#pragma once

#include <cstdint>
#include <string>

namespace tutti {

// The process that wrote its number into a lock's file and has that file open; zero: none, or none
// of this user. A number that was left behind names nobody, even if a process has it again.
std::int64_t lock_holder(const std::string& path);

}  // namespace tutti
