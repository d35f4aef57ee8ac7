#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

// Base64 with the standard alphabet and padding, on one line.
std::string base64_encode(std::string_view bytes);

// The reverse. Strict: wrong padding, foreign characters and unused bits that are set are errors.
Result<std::string> base64_decode(std::string_view text);

}  // namespace tutti
