#include "core/model/node.h"

#include <gtest/gtest.h>

#include "tests/support/world.h"

namespace tutti {
namespace {

using testing_support::cpus;
using testing_support::gpus;
using testing_support::node;
using testing_support::with_gpus;

// How many of these requests fit at once.
int capacity(Node node, const Request& request) {
  int count = 0;
  for (; fits_now(node, request); ++count) reserve(node, request, grant(node, request));
  return count;
}

TEST(node, never_and_not_now_are_different_answers) {
  Node one = node("a", 4);
  reserve(one, cpus(3), grant(one, cpus(3)));
  EXPECT_TRUE(could_ever_fit(one, cpus(4)));
  EXPECT_FALSE(fits_now(one, cpus(4)));
  EXPECT_FALSE(could_ever_fit(one, cpus(5)));
  EXPECT_TRUE(fits_now(one, cpus(1)));
}

TEST(node, memory_counts_like_cpus) {
  const Node one = node("a", 64, 1000);
  EXPECT_EQ(capacity(one, cpus(1, 300)), 3);
  EXPECT_FALSE(could_ever_fit(one, cpus(1, 1001)));
}

TEST(node, all_labels_must_be_there) {
  Node one = node("a", 4);
  one.labels = {"fast", "ssd"};
  Request request = cpus(1);
  request.labels = {"ssd"};
  EXPECT_TRUE(could_ever_fit(one, request));
  request.labels = {"big", "ssd"};
  EXPECT_FALSE(could_ever_fit(one, request));
}

TEST(node, five_tasks_of_018_share_one_gpu_and_80_share_16) {
  EXPECT_EQ(capacity(with_gpus(node("a", 64), 16), gpus(1, 180)), 80);
}

TEST(node, one_task_of_06_needs_a_gpu_for_itself) {
  EXPECT_EQ(capacity(with_gpus(node("a", 64), 16), gpus(1, 600)), 16);
}

TEST(node, gpu_memory_is_shared_until_it_is_full) {
  EXPECT_EQ(capacity(with_gpus(node("a", 64), 2, 40960), gpus(1, 0, 15000)), 4);
  EXPECT_FALSE(could_ever_fit(with_gpus(node("a", 64), 2, 40960), gpus(1, 0, 40961)));
}

TEST(node, a_whole_gpu_is_not_shared) {
  Node one = with_gpus(node("a", 64), 2);
  reserve(one, gpus(1, 100), grant(one, gpus(1, 100)));
  EXPECT_EQ(capacity(one, gpus(1)), 1);
  EXPECT_FALSE(fits_now(one, gpus(2)));
  EXPECT_TRUE(could_ever_fit(one, gpus(2)));
}

TEST(node, nobody_shares_a_gpu_that_is_taken_whole) {
  Node one = with_gpus(node("a", 64), 1);
  reserve(one, gpus(1), grant(one, gpus(1)));
  EXPECT_FALSE(fits_now(one, gpus(1, 1)));
  EXPECT_FALSE(fits_now(one, gpus(1, 0, 1)));
}

TEST(node, the_fullest_gpu_that_suffices_is_granted) {
  Node one = with_gpus(node("a", 64), 3, 1000);
  one.devices[1].reserved_memory = MiB(500);
  one.devices[1].holders = 1;
  EXPECT_EQ(grant(one, gpus(1, 0, 400)).devices, std::vector{DeviceId(1)});
  EXPECT_EQ(grant(one, gpus(1, 0, 600)).devices, std::vector{DeviceId(0)});
}

TEST(node, type_and_health_of_gpus_matter) {
  Node one = with_gpus(with_gpus(node("a", 64), 1, 40960, "A100"), 1, 16384, "T4");
  one.devices[1].id = DeviceId(1);
  Request request = gpus(1);
  request.devices.type = "T4";
  EXPECT_EQ(grant(one, request).devices, std::vector{DeviceId(1)});
  request.devices.type = "H100";
  EXPECT_FALSE(could_ever_fit(one, request));
  one.devices[0].healthy = one.devices[1].healthy = false;
  EXPECT_FALSE(could_ever_fit(one, gpus(1)));
}

TEST(node, what_was_reserved_can_be_released) {
  const Node before = with_gpus(node("a", 8), 2);
  Node one = before;
  const Request request = gpus(2, 500, 1000);
  const Allocation allocation = grant(one, request);
  reserve(one, request, allocation);
  EXPECT_NE(one, before);
  release(one, request, allocation);
  EXPECT_EQ(one, before);
}

}  // namespace
}  // namespace tutti
