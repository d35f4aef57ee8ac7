#include "core/plan/ordering.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/nearest.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 5> kOrderings = {"fair", "fifo", "backfill", "srtf", "las"};

}  // namespace

std::span<const std::string_view> ordering_names() {
  return kOrderings;
}

std::string_view ordering_name(Ordering ordering) {
  return kOrderings.at(static_cast<std::size_t>(ordering));
}

Result<Ordering> parse_ordering(std::string_view name) {
  const auto found = std::find(kOrderings.begin(), kOrderings.end(), name);
  if (found != kOrderings.end()) return static_cast<Ordering>(found - kOrderings.begin());
  std::string known;
  for (const std::string_view one : kOrderings)
    known += (known.empty() ? "" : ", ") + std::string(one);
  return invalid_input("policy: " + shown(name) + " is none of " + known +
                       did_you_mean(name, kOrderings));
}

}  // namespace tutti
