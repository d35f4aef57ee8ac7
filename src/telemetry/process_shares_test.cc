#include "telemetry/process_shares.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(ProcessShares, a_process_named_twice_counts_with_its_largest_memory) {
  std::vector<GpuProcess> list = {{7, MiB(10), {}}, {3, MiB(5), {}}, {7, MiB(20), {}}, {0, {}, {}}};
  merge_processes(list);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].pid, 3);
  EXPECT_EQ(list[1].memory, MiB(20));
}

TEST(ProcessShares, what_is_not_told_is_never_negative) {
  std::vector<GpuProcess> list = {{1, MiB(100), {}}, {2, kMemoryNotTold, {}}};
  fill_in_memory(list, MiB(50));
  EXPECT_EQ(list[1].memory, MiB(0));
}

TEST(ProcessShares, without_any_memory_all_have_the_same_part) {
  std::vector<GpuProcess> list = {{1, {}, {}}, {2, {}, {}}};
  share_utilization(list, MilliGpu(800));
  EXPECT_EQ(list[0].utilization, MilliGpu(400));
}

TEST(ProcessShares, nobody_gets_nothing) {
  std::vector<GpuProcess> list;
  share_utilization(list, MilliGpu(800));
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace tutti
