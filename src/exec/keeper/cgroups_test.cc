#include "exec/keeper/cgroups.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "exec/keeper/limits_note.h"

namespace tutti {
namespace {

std::string quota_of(std::int64_t cpus) {
  const CpuQuota part = cpu_quota(MilliCpu(cpus));
  return std::to_string(part.quota_us) + "/" + std::to_string(part.period_us);
}

TEST(CgroupsTest, a_part_of_a_cpu_is_never_less_than_the_kernel_takes) {
  EXPECT_EQ(quota_of(2500), "250000/100000");
  EXPECT_EQ(quota_of(10), "1000/100000");
  EXPECT_EQ(quota_of(5), "1000/200000");
  EXPECT_EQ(quota_of(1), "1000/1000000");
}

// Stands for the kernel's folder of one controller; it makes no files in new groups.
class CgroupPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/tutti-groups.XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

TEST_F(CgroupPoolTest, is_given_up_only_where_no_group_can_be_made) {
  CgroupPool passing({.memory = root_}, "1");
  EXPECT_FALSE(passing.take(MilliCpu(0), MiB(64)));
  EXPECT_TRUE(passing.available());
  CgroupPool refused({.memory = root_ + "/missing"}, "1");
  EXPECT_FALSE(refused.take(MilliCpu(0), MiB(64)));
  EXPECT_FALSE(refused.available());
  for (const int passes : {EMFILE, ENOSPC, EINVAL, EBUSY}) EXPECT_FALSE(refuses_groups(passes));
}

TEST_F(CgroupPoolTest, a_cpu_limit_that_is_not_taken_leaves_the_others) {
  const std::string memory = root_ + "/memory";
  std::filesystem::create_directories(memory + "/tutti-1/1");
  for (const char* file : {"cgroup.procs", "memory.limit_in_bytes"})
    std::ofstream(memory + "/tutti-1/1/" + file);
  CgroupPool pool({.memory = memory, .cpu = root_ + "/missing"}, "1");
  std::filesystem::create_directories(root_ + "/missing");
  auto group = pool.take(MilliCpu(500), MiB(64));
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_TRUE((*group)->limits_memory());
  EXPECT_NE((*group)->fault(), "");
  pool.give_back(std::move(*group));
}

TEST_F(CgroupPoolTest, what_is_missed_is_told_until_all_limits_hold_again) {
  std::filesystem::create_directories(root_ + "/run");
  LimitsNote note(root_);
  EXPECT_EQ(read_limits_note(root_), "");
  note.missed({{JobId(7), 0}, 1}, "why");
  EXPECT_EQ(read_limits_note(root_), "job 7: why");
  note.held();
  EXPECT_EQ(read_limits_note(root_), "");
}

}  // namespace
}  // namespace tutti
