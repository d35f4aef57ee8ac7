#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/elastic/view.h"

namespace tutti {

// Something that a job could be given, and what that is worth.
struct Offer {
  std::uint32_t pool = 0;
  std::uint32_t devices = 0;
  double value = 0;
};

// A job that gets one of its offers, or nothing, which is worth `nothing`.
struct Bidder {
  std::vector<Offer> offers;
  double nothing = 0;
  std::optional<std::size_t> current;  // the offer that it has now
  bool pinned = false;                 // it keeps that
};

// Gives each job an offer or nothing so that the sum of the values is as large as possible and no
// pool gives more devices than it has. Exact while the pools are small (up to some hundred devices
// in all); else by prices for devices, with repairs: within a percent or two of the best. What all
// have now must fit.
Choices assign(std::span<const std::uint32_t> capacities, const std::vector<Bidder>& bidders);

// The same by prices, whatever the size.
Choices assign_by_prices(std::span<const std::uint32_t> capacities,
                         const std::vector<Bidder>& bidders);

}  // namespace tutti
