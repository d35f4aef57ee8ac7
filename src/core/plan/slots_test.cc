#include "core/plan/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 24 cores of which 12.4 % are busy, and two idle GPUs.
FreeMachine machine() {
  return {MilliCpu(21024), MiB(30607), {{0, MiB(5931), {}}, {1, MiB(5931), {}}}};
}

SlotNeed defaults() {
  return {.cpus = MilliCpu(1000),
          .memory = MiB(7000),
          .gpu = true,
          .gpu_memory = MiB(1000),
          .gpu_share = MilliGpu(750),
          .reserve_gpu = true};
}

SlotNeed shared(std::int64_t share) {
  SlotNeed need = defaults();
  need.memory = MiB(1000);
  need.gpu_share = MilliGpu(share);
  need.reserve_gpu = false;
  return need;
}

TEST(Slots, reserved_gpus_take_one_job_each) {
  const Slots slots = count_slots(machine(), defaults());
  EXPECT_THAT(slots.gpus, ElementsAre(0u, 1u));
  EXPECT_EQ(slots.limited_by, "every GPU is reserved");
}

TEST(Slots, shared_gpus_are_limited_by_utilization) {
  EXPECT_THAT(count_slots(machine(), shared(750)).gpus, ElementsAre(0u, 1u));
}

TEST(Slots, a_gpu_may_be_overbooked_up_to_its_cap) {
  EXPECT_THAT(count_slots(machine(), shared(600)).gpus, ElementsAre(0u, 1u, 0u, 1u));
  EXPECT_THAT(count_slots(machine(), shared(601)).gpus, ElementsAre(0u, 1u));
}

TEST(Slots, light_jobs_take_turns_on_shared_gpus_until_memory_is_used) {
  EXPECT_THAT(count_slots(machine(), shared(100)).gpus,
              ElementsAre(0u, 1u, 0u, 1u, 0u, 1u, 0u, 1u, 0u, 1u));
}

TEST(Slots, a_reserved_machine_takes_one_job) {
  SlotNeed need = defaults();
  need.reserve_machine = true;
  EXPECT_THAT(count_slots(machine(), need).gpus, ElementsAre(0u));
}

TEST(Slots, cores_may_be_overbooked_by_two) {
  SlotNeed need = defaults();
  need.gpu = false;
  need.cpus = MilliCpu(8000);
  const Slots slots = count_slots(machine(), need);
  EXPECT_THAT(slots.gpus, ElementsAre(std::nullopt, std::nullopt));
  EXPECT_EQ(slots.limited_by, "too few idle cores");
  FreeMachine larger = machine();
  larger.idle_cpus = MilliCpu(22000);
  EXPECT_THAT(count_slots(larger, need).gpus, SizeIs(3));
}

TEST(Slots, a_busy_gpu_is_left_alone) {
  FreeMachine four = machine();
  four.gpus.push_back({2, MiB(5931), {}});
  four.gpus.push_back({3, MiB(5931), {}});
  four.gpus[1].busy = MilliGpu(900);
  EXPECT_THAT(count_slots(four, defaults()).gpus, ElementsAre(0u, 2u, 3u));
}

TEST(Slots, a_full_gpu_is_left_alone) {
  FreeMachine two = machine();
  two.gpus[0].free_memory = MiB(500);
  EXPECT_THAT(count_slots(two, defaults()).gpus, ElementsAre(1u));
}

TEST(Slots, the_least_busy_gpu_comes_first) {
  FreeMachine two = machine();
  two.gpus[0].busy = MilliGpu(150);
  EXPECT_THAT(count_slots(two, shared(100)).gpus,
              ElementsAre(1u, 1u, 0u, 1u, 0u, 1u, 0u, 1u, 0u, 0u));
}

TEST(Slots, a_machine_at_full_load_is_no_error) {
  FreeMachine busy = machine();
  busy.idle_cpus = MilliCpu(0);
  SlotNeed need = defaults();
  EXPECT_THAT(count_slots(busy, need).gpus, SizeIs(2));
  need.cpus = MilliCpu(3000);
  EXPECT_THAT(count_slots(busy, need).gpus, IsEmpty());
}

TEST(Slots, what_fits_nowhere_says_why) {
  SlotNeed need = defaults();
  FreeMachine none = machine();
  none.gpus.clear();
  EXPECT_EQ(count_slots(none, need).limited_by, "no GPU");
  need.gpu_memory = MiB(8000);
  EXPECT_EQ(count_slots(machine(), need).limited_by,
            "no GPU with 8000 MB free and room for its utilization");
  need.memory = MiB(40000);
  EXPECT_EQ(count_slots(machine(), need).limited_by, "too little free memory");
}

TEST(Slots, a_need_of_nothing_ends) {
  EXPECT_THAT(count_slots(machine(), {}).gpus, SizeIs(1024));
}

}  // namespace
}  // namespace tutti
