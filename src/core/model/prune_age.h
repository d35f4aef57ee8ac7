#pragma once

#include "base/units.h"

namespace tutti {

// How long ago jobs ended that a prune forgets, unless it is told.
inline constexpr Duration kPruneAge = seconds(30 * 24 * 3600);

}  // namespace tutti
