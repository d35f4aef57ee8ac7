#pragma once

#include <string>

namespace tutti {

// 32 hexadecimal digits that nobody else writes.
std::string random_word();

}  // namespace tutti
