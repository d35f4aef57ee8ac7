#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace tutti {

// "unknown state 'x'", with the word that was meant, or else all there are.
Error unknown_word(std::string_view what, std::string_view word,
                   std::span<const std::string_view> known);

}  // namespace tutti
