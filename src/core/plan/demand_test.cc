#include "core/plan/demand.h"

#include <gtest/gtest.h>

#include "tests/support/world.h"

namespace tutti {
namespace {

using testing_support::gpus;

const std::vector<DeviceType> kTypes = {{"A100-80G", MiB(81920)}, {"T4-16G", MiB(16384)}};

Profile measured(std::initializer_list<std::int64_t> peaks, std::int64_t share = 200,
                 const std::string& type = "A100-80G") {
  Profile profile;
  for (const std::int64_t peak : peaks) profile.add_device(type, MiB(peak), MilliGpu(share), false);
  return profile;
}

TEST(demand, what_is_not_known_is_measured_alone) {
  const Demand demand = demand_of(gpus(1), nullptr, kTypes);
  EXPECT_TRUE(demand.measure);
  EXPECT_TRUE(demand.request.devices.whole());
}

TEST(demand, what_was_measured_is_reserved_with_a_margin) {
  const Profile once = measured({10000});
  const Demand demand = demand_of(gpus(1), &once, kTypes);
  EXPECT_FALSE(demand.measure);
  EXPECT_FALSE(demand.request.devices.whole());
  EXPECT_EQ(demand.request.devices.memory, MiB(11000));
  EXPECT_EQ(demand.request.devices.share, MilliGpu(200));
}

TEST(demand, the_margin_follows_the_spread) {
  const Profile steady = measured({10000, 10000, 10000, 10000});
  const Profile varied = measured({8000, 10000, 9000, 10000});
  EXPECT_EQ(demand_of(gpus(1), &steady, kTypes).request.devices.memory, MiB(10200));
  const MiB wide = demand_of(gpus(1), &varied, kTypes).request.devices.memory;
  EXPECT_GT(wide, MiB(11000));
  EXPECT_LE(wide, MiB(12500));
}

TEST(demand, old_runs_are_forgotten) {
  Profile profile = measured({60000});
  for (int i = 0; i < 16; ++i) profile.add_device("A100-80G", MiB(1000), MilliGpu(100), false);
  EXPECT_LT(demand_of(gpus(1), &profile, kTypes).request.devices.memory, MiB(1200));
}

TEST(demand, what_the_user_states_counts_unless_it_was_too_little) {
  Profile profile = measured({10000});
  EXPECT_EQ(demand_of(gpus(1, 0, 500), &profile, kTypes).request.devices.memory, MiB(500));
  profile.raise_device("A100-80G", MiB(12000));
  EXPECT_EQ(demand_of(gpus(1, 0, 500), &profile, kTypes).request.devices.memory, MiB(12000));
  EXPECT_EQ(demand_of(gpus(1, 0, 20000), &profile, kTypes).request.devices.memory, MiB(20000));
}

TEST(demand, a_type_that_was_never_met_borrows_from_the_others) {
  const Profile profile = measured({5000});
  Request request = gpus(1);
  request.devices.type = "T4";
  EXPECT_EQ(demand_of(request, &profile, kTypes).request.devices.memory, MiB(5500));
}

TEST(demand, the_margin_is_never_more_than_a_device_has) {
  const Profile profile = measured({80000});
  EXPECT_EQ(demand_of(gpus(1), &profile, kTypes).request.devices.memory, MiB(81920));
  EXPECT_EQ(unmet_need(gpus(1), &profile, kTypes), MiB(0));
}

TEST(demand, a_need_that_no_device_meets_is_told) {
  Profile profile;
  profile.raise_device("A100-80G", MiB(81921));
  EXPECT_EQ(unmet_need(gpus(1), &profile, kTypes), MiB(81921));
  const Demand demand = demand_of(gpus(1), &profile, kTypes);
  EXPECT_EQ(demand.request.devices.memory, MiB(81920)) << "who waits already is not left waiting";
}

TEST(demand, what_was_too_little_on_one_device_says_nothing_of_more) {
  Profile profile;
  profile.raise_device("A100-80G", MiB(81921), 2);
  EXPECT_EQ(unmet_need(gpus(1), &profile, kTypes), MiB(81921));
  EXPECT_EQ(unmet_need(gpus(2), &profile, kTypes), MiB(81921));
  EXPECT_EQ(unmet_need(gpus(4), &profile, kTypes), MiB());
  EXPECT_EQ(demand_of(gpus(4, 0, 500), &profile, kTypes).request.devices.memory, MiB(500));
  profile.raise_device("A100-80G", MiB(30000), 4);
  EXPECT_EQ(demand_of(gpus(4, 0, 500), &profile, kTypes).request.devices.memory, MiB(30000));
  EXPECT_EQ(profile.devices().back().type, "4xA100-80G");
}

TEST(demand, exclusive_stays_exclusive) {
  const Profile profile = measured({1000});
  Request request = gpus(1);
  request.devices.sharing = Sharing::kNever;
  const Demand demand = demand_of(request, &profile, kTypes);
  EXPECT_FALSE(demand.measure);
  EXPECT_TRUE(demand.request.devices.whole());
}

TEST(demand, without_devices_nothing_changes) {
  const Request request = testing_support::cpus(2);
  EXPECT_EQ(demand_of(request, nullptr, kTypes).request, request);
}

}  // namespace
}  // namespace tutti
