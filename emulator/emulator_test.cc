#include "emulator/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "emulator/gpu_file.h"
#include "emulator/gpu_use.h"
#include "emulator/temporary_gpus.h"
#include "emulator/visible_devices.h"

namespace tutti::emulator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Emulator : public TemporaryGpus {
 protected:
  unsigned long long used(int unit) {
    LockedGpus gpus(*current_gpu_file().value());
    return used_memory(gpus, unit);
  }

  std::vector<int> visible(const char* variable) {
    LockedGpus gpus(*current_gpu_file().value());
    return visible_units(gpus, variable);
  }
};

TEST_F(Emulator, memory_can_be_taken_to_the_last_byte) {
  create("T4-16G");
  EXPECT_EQ(tutti_emulator_allocate("0", 10 * kGiB), 0);
  EXPECT_EQ(tutti_emulator_allocate("0", 6 * kGiB + 1), -ENOMEM);
  EXPECT_EQ(tutti_emulator_allocate("0", 6 * kGiB), 0);
  EXPECT_EQ(tutti_emulator_allocate("0", 1), -ENOMEM);
  EXPECT_EQ(tutti_emulator_allocate("0", ~0ull), -ENOMEM);
}

TEST_F(Emulator, freed_memory_can_be_taken_again) {
  create("T4-16G");
  ASSERT_EQ(tutti_emulator_allocate("0", 16 * kGiB), 0);
  EXPECT_EQ(tutti_emulator_free("0", 6 * kGiB), 0);
  EXPECT_EQ(used(0), 10 * kGiB);
  EXPECT_EQ(tutti_emulator_free("0", ~0ull), 0);
  EXPECT_EQ(used(0), 0u);
}

TEST_F(Emulator, a_dead_process_holds_nothing) {
  create("T4-16G");
  const pid_t child = child_that([] { tutti_emulator_allocate("0", 16 * kGiB); });
  ASSERT_EQ(tutti_emulator_allocate("0", 1), -ENOMEM);
  end(child);
  EXPECT_EQ(tutti_emulator_allocate("0", 16 * kGiB), 0);
}

TEST_F(Emulator, a_zombie_holds_nothing) {
  create("T4-16G");
  const pid_t child = child_that([] { tutti_emulator_allocate("0", 16 * kGiB); });
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(used(0), 0u);
}

TEST_F(Emulator, a_pid_that_was_used_again_holds_nothing) {
  create("T4-16G");
  child_that([] { tutti_emulator_allocate("0", 16 * kGiB); });
  {
    LockedGpus gpus(*current_gpu_file().value());
    gpus->holdings[0].start_time -= 1;
    gpus->holdings[0].checked_at = 0;
  }
  EXPECT_EQ(used(0), 0u);
}

TEST_F(Emulator, a_forked_child_has_nothing_of_its_parent) {
  create("T4-16G");
  ASSERT_EQ(tutti_emulator_allocate("0", 10 * kGiB), 0);
  end(child_that([] { tutti_emulator_free("0", ~0ull); }));
  EXPECT_EQ(used(0), 10 * kGiB);
}

TEST_F(Emulator, a_process_killed_with_the_lock_blocks_nobody) {
  create("T4-16G");
  end(child_that([] {
    // Never unlocked: the child is killed while it holds it.
    new LockedGpus(*current_gpu_file().value());
  }));
  EXPECT_EQ(tutti_emulator_allocate("0", kGiB), 0);
  EXPECT_EQ(tutti_emulator_allocate("0", kGiB), 0);
}

TEST_F(Emulator, concurrent_allocators_never_exceed_the_total) {
  create("T4-16G");
  constexpr int processes = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int failures = 0;
      for (int round = 0; round < 500; ++round) {
        if (tutti_emulator_allocate("0", 5 * kGiB) != 0) continue;
        LockedGpus gpus(*current_gpu_file().value());
        if (used_memory(gpus, 0) > 16 * kGiB) ++failures;
        release(gpus, 0, 5 * kGiB);
      }
      ::_exit(failures == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(used(0), 0u);
}

TEST_F(Emulator, places_of_dead_processes_are_used_again) {
  create("T4-16G");
  for (int i = 0; i < 1100; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(tutti_emulator_allocate("0", 1) == 0 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << i;
  }
}

TEST_F(Emulator, an_equal_file_is_kept_and_another_one_replaced) {
  create("T4-16G");
  ASSERT_EQ(tutti_emulator_allocate("0", kGiB), 0);
  create("T4-16G");
  EXPECT_EQ(used(0), kGiB);
  create("2xT4-16G");
  EXPECT_EQ(used(0), 0u);
  EXPECT_EQ(tutti_emulator_allocate("1", kGiB), 0);
}

TEST_F(Emulator, a_file_of_somebody_else_is_not_overwritten) {
  std::ofstream(path_) << "my thesis";
  char error[512];
  EXPECT_EQ(tutti_emulator_create(path_.c_str(), "T4-16G", error, sizeof error), -EINVAL);
  EXPECT_THAT(error, HasSubstr("is not a file of emulated GPUs"));
  EXPECT_EQ(tutti_emulator_allocate("0", 1), -ENXIO);
}

TEST_F(Emulator, a_file_from_before_a_reboot_is_refused_and_made_anew) {
  create("T4-16G");
  current_gpu_file().value()->boot[0] = 'x';
  EXPECT_FALSE(open_gpu_file(path_));
  create("T4-16G");
  EXPECT_TRUE(open_gpu_file(path_));
}

TEST_F(Emulator, uuids_depend_on_place_and_type_only) {
  create("2xT4-16G");
  const std::string first = current_gpu_file().value()->units[0].uuid;
  const std::string second = current_gpu_file().value()->units[1].uuid;
  EXPECT_NE(first, second);
  ::unlink(path_.c_str());
  create("T4-16G,A100-80G");
  EXPECT_EQ(first, current_gpu_file().value()->units[0].uuid);
  EXPECT_NE(second, current_gpu_file().value()->units[1].uuid);
}

TEST_F(Emulator, a_split_gpu_is_used_by_its_slices) {
  create("A100-80G/mig2x40G");
  const std::string slice = current_gpu_file().value()->units[2].uuid;
  EXPECT_EQ(tutti_emulator_allocate("0", 1), -ENODEV);
  EXPECT_EQ(tutti_emulator_allocate(slice.c_str(), 40 * kGiB), 0);
  EXPECT_EQ(tutti_emulator_allocate(slice.c_str(), 1), -ENOMEM);
  EXPECT_EQ(used(0), 40 * kGiB);
  EXPECT_EQ(used(1), 0u);
}

TEST_F(Emulator, wrong_arguments_are_told_apart) {
  create("T4-16G");
  EXPECT_EQ(tutti_emulator_allocate("1", 1), -ENODEV);
  EXPECT_EQ(tutti_emulator_allocate("GPU-none", 1), -ENODEV);
  EXPECT_EQ(tutti_emulator_allocate(nullptr, 1), -EINVAL);
  EXPECT_EQ(tutti_emulator_set_utilization("0", 101), -EINVAL);
  EXPECT_EQ(tutti_emulator_set_fault("0", "tired"), -EINVAL);
  EXPECT_EQ(tutti_emulator_fail(-1), -EINVAL);
}

TEST_F(Emulator, nothing_can_be_taken_on_a_lost_device) {
  create("T4-16G");
  ASSERT_EQ(tutti_emulator_set_fault("0", "lost"), 0);
  EXPECT_EQ(tutti_emulator_allocate("0", 1), -EIO);
}

TEST_F(Emulator, visible_devices_are_those_of_the_variable) {
  create("3xT4-16G,A100-80G/mig2x40G");
  const std::string second = current_gpu_file().value()->units[1].uuid;
  EXPECT_THAT(visible(nullptr), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(visible(""), IsEmpty());
  EXPECT_THAT(visible("-1"), IsEmpty());
  EXPECT_THAT(visible("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(visible((second + ",0").c_str()), ElementsAre(1, 0));
  EXPECT_THAT(visible(second.substr(0, 12).c_str()), ElementsAre(1));
  EXPECT_THAT(visible("GPU-"), IsEmpty());
  EXPECT_THAT(visible("1,9,2"), ElementsAre(1));
  EXPECT_THAT(visible("1,1"), IsEmpty());
}

}  // namespace
}  // namespace tutti::emulator
