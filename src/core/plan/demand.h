#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/model/node.h"
#include "core/model/profile.h"
#include "core/model/request.h"

namespace tutti {

// A type of device that some node has, and how large the largest such device is.
struct DeviceType {
  std::string type;
  MiB memory;
};
std::vector<DeviceType> device_types(std::span<const Node> nodes);

// A request once what was measured of its kind counts too.
struct Demand {
  Request request;
  // Nothing is known of what it needs of a device: it has to run alone and be measured.
  bool measure = false;
};

// What to reserve for a task of a kind with this profile (null: never ran). What the user stated
// counts, unless the kind has run out of memory with it. What the user left out is what was
// measured, on the wanted type of device where it ran there. Nobody is made to wait for more memory
// than the largest device has: it gets that one alone.
Demand demand_of(const Request& request, const Profile* profile, std::span<const DeviceType> types);
// The request of a rank whose kind has run out of memory: no less than what was too little.
Request with_floor(const Request& request, const Profile& profile,
                   std::span<const DeviceType> types);

// Whether runs of the kind ran out of memory with as many such devices, and no device has more.
bool ran_out(const Request& request, const Profile* profile, std::span<const DeviceType> types);

// What the kind needs of a device although no device has it; zero: some device suffices.
MiB unmet_need(const Request& request, const Profile* profile, std::span<const DeviceType> types);

}  // namespace tutti
