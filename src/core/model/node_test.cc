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
  for (; fits_now(node, request); ++count) reserve(node, grant(node, request));
  return count;
}

TEST(node, never_and_not_now_are_different_answers) {
  Node one = node("a", 4);
  reserve(one, grant(one, cpus(3)));
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
  reserve(one, grant(one, gpus(1, 100)));
  EXPECT_EQ(capacity(one, gpus(1)), 1);
  EXPECT_FALSE(fits_now(one, gpus(2)));
  EXPECT_TRUE(could_ever_fit(one, gpus(2)));
}

TEST(node, nobody_shares_a_gpu_that_is_taken_whole) {
  Node one = with_gpus(node("a", 64), 1);
  reserve(one, grant(one, gpus(1)));
  EXPECT_FALSE(fits_now(one, gpus(1, 1)));
  EXPECT_FALSE(fits_now(one, gpus(1, 0, 1)));
}

TEST(node, the_fullest_gpu_that_suffices_is_granted) {
  Node one = with_gpus(node("a", 64), 3, 1000);
  one.devices[1].reserved_memory = MiB(500);
  one.devices[1].holders = 1;
  EXPECT_EQ(grant(one, gpus(1, 0, 400)).devices[0].id, DeviceId(1));
  EXPECT_EQ(grant(one, gpus(1, 0, 600)).devices[0].id, DeviceId(0));
}

TEST(node, type_and_health_of_gpus_matter) {
  Node one = with_gpus(with_gpus(node("a", 64), 1, 40960, "A100"), 1, 16384, "T4");
  one.devices[1].id = DeviceId(1);
  Request request = gpus(1);
  request.devices.type = "T4";
  EXPECT_EQ(grant(one, request).devices[0].id, DeviceId(1));
  request.devices.type = "H100";
  EXPECT_FALSE(could_ever_fit(one, request));
  one.devices[0].healthy = one.devices[1].healthy = false;
  EXPECT_FALSE(could_ever_fit(one, gpus(1)));
}

TEST(node, a_type_without_its_size_means_every_size) {
  EXPECT_TRUE(is_of_type("A100-80G", "a100"));
  EXPECT_TRUE(is_of_type("A100-80G", "A100-80G"));
  EXPECT_TRUE(is_of_type("A100-80G", ""));
  EXPECT_FALSE(is_of_type("A100-80G", "A10"));
  EXPECT_FALSE(is_of_type("A10-24G", "A100"));
}

TEST(node, others_on_a_gpu_are_worked_around) {
  Node one = with_gpus(node("a", 64), 2, 1000);
  one.devices[0].foreign = MiB(700);
  EXPECT_EQ(grant(one, gpus(1)).devices[0].id, DeviceId(1)) << "the first is not free";
  EXPECT_EQ(grant(one, gpus(1, 0, 300)).devices[0].id, DeviceId(0));
  EXPECT_EQ(grant(one, gpus(1, 0, 301)).devices[0].id, DeviceId(1));
  one.devices[1].foreign = MiB(500);
  EXPECT_TRUE(fits_now(one, gpus(1))) << "an idle context hurts nobody";
}

TEST(node, a_share_without_memory_takes_its_part_of_the_memory) {
  Node one = with_gpus(node("a", 64), 1, 1000);
  reserve(one, grant(one, gpus(1, 250)));
  EXPECT_EQ(one.devices[0].reserved_memory, MiB(250));
}

TEST(node, spreading_takes_the_emptiest_gpu) {
  Node one = with_gpus(node("a", 64), 3, 1000);
  Request request = gpus(1, 0, 100);
  request.devices.packing = Packing::kSpread;
  std::vector<std::uint32_t> granted;
  for (int i = 0; i < 3; ++i) {
    const Allocation allocation = grant(one, request);
    reserve(one, allocation);
    granted.push_back(allocation.devices[0].id.value);
  }
  EXPECT_EQ(granted, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(node, a_hole_that_the_queue_can_use_is_kept) {
  // 600 of 1000 fit either GPU; only on the first do the others' 400 still find room afterwards.
  Node one = with_gpus(node("a", 64), 2, 1000);
  one.devices[1].reserved_memory = MiB(300);
  one.devices[1].holders = 1;
  const DeviceDemand others{gpus(1, 0, 400).devices, 1.0};
  EXPECT_EQ(grant(one, gpus(1, 0, 600)).devices[0].id, DeviceId(1)) << "the fullest";
  EXPECT_EQ(grant(one, gpus(1, 0, 600), {}, std::span(&others, 1)).devices[0].id, DeviceId(0));
}

TEST(node, devices_that_are_held_keep_their_numbers) {
  Node before = with_gpus(node("a", 64), 3, 1000);
  for (Device& device : before.devices) device.uuid = "GPU-" + std::to_string(device.id.value);
  reserve(before, grant(before, gpus(1)));
  std::vector<Device> after = {before.devices[2], before.devices[1]};
  after[0].id = DeviceId(0);
  after.push_back({.id = DeviceId(2), .uuid = "GPU-new", .memory = MiB(1000)});
  carry_over_devices(before.devices, after);
  ASSERT_EQ(after.size(), 4u);
  EXPECT_FALSE(after[0].healthy) << "the one that is gone is still held";
  EXPECT_EQ(after[0].holders, 1u);
  EXPECT_EQ(after[2].uuid, "GPU-2");
  EXPECT_EQ(after[3].uuid, "GPU-new");
  EXPECT_EQ(after[3].id, DeviceId(3));
}

TEST(node, what_was_reserved_can_be_released) {
  const Node before = with_gpus(node("a", 8), 2);
  Node one = before;
  const Request request = gpus(2, 500, 1000);
  const Allocation allocation = grant(one, request);
  reserve(one, allocation);
  EXPECT_NE(one, before);
  release(one, allocation);
  EXPECT_EQ(one, before);
}

TEST(node, daemons_that_share_a_machine_begin_at_different_ports) {
  Node one;
  one.port_range = {.first = 20000, .last = 20009};
  Request request;
  request.ports = 3;
  EXPECT_EQ(grant(one, request).ports, (std::vector<std::uint32_t>{20000, 20001, 20002}));
  one.port_origin = 18;
  EXPECT_EQ(grant(one, request).ports, (std::vector<std::uint32_t>{20008, 20009, 20000}));
  one.ports = {20009};
  EXPECT_EQ(grant(one, request).ports, (std::vector<std::uint32_t>{20008, 20000, 20001}));
}

}  // namespace
}  // namespace tutti
