#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace tutti {

// By which rule waiting work takes its turn. Each is a file in core/policy.
enum class Ordering : std::uint8_t {
  kFair,      // priority, fair share, age; backfill: what the daemon does
  kFifo,      // the order of submission; nothing passes what does not fit
  kBackfill,  // the order of submission; what delays nobody may pass
  kSrtf,      // the job with the least work left first, by what is known of its kind; backfill
  kLas,       // the job that has had the least service first; backfill
};

// "fair", "fifo", "backfill", "srtf", "las".
std::span<const std::string_view> ordering_names();
std::string_view ordering_name(Ordering ordering);
Result<Ordering> parse_ordering(std::string_view name);

}  // namespace tutti
