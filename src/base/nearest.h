#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tutti {

// The candidate that other schedulers call `word`, else the one with the fewest edits from it, else
// one that begins as it does; empty when none is near enough to be what the user meant. Ties go to
// the first. Dashes before a word, and whether they or underscores join its parts, do not count.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// ", did you mean 'X'?" or empty: the tail of an error about an unknown name.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tutti
