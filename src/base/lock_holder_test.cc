#include "base/lock_holder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace tutti {
namespace {

TEST(LockHolder, a_number_counts_while_its_process_has_the_file_open) {
  std::string folder = "/tmp/tutti-lock-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/lock";
  EXPECT_EQ(lock_holder(path), 0);
  std::ofstream(path) << ::getpid() << '\n';
  EXPECT_EQ(lock_holder(path), 0);
  {
    const UniqueFd held(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(lock_holder(path), ::getpid());
  }
  EXPECT_EQ(lock_holder(path), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tutti
