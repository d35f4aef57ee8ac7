#pragma once

#include <cstddef>

namespace tutti {

// The output of how many tasks one stream of a job can have.
inline constexpr std::size_t kMostFollowed = 1000;

}  // namespace tutti
