#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tutti {

// The candidate with the fewest edits from `word`, or empty when none is near enough to be what the
// user meant. Ties go to the first.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// ", did you mean 'X'?" or empty: the tail of an error about an unknown name.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tutti
