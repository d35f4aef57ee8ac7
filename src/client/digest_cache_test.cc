#include "client/digest_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

const std::string kDigest(64, 'a');
constexpr std::int64_t kNow = 2'000'000'000'000'000'000;

struct stat status_of(std::uint64_t inode, std::int64_t changed) {
  struct stat status {};
  status.st_dev = 1;
  status.st_ino = inode;
  status.st_size = 5;
  status.st_mtim = {changed, 7};
  status.st_ctim = {changed, 7};
  return status;
}

class DigestCacheTest : public ::testing::Test {
 protected:
  DigestCacheTest() {
    std::string made = "/tmp/tutti-digest-cache-XXXXXX";
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  ~DigestCacheTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/digests"; }
  std::string folder_;
};

TEST_F(DigestCacheTest, an_unchanged_file_is_known_the_next_time) {
  DigestCache first(path());
  first.remember(status_of(1, 1000), kDigest, kNow);
  first.save();
  const DigestCache second(path());
  EXPECT_EQ(second.find(status_of(1, 1000)), kDigest);
  EXPECT_EQ(second.find(status_of(2, 1000)), "");
}

TEST_F(DigestCacheTest, whatever_changes_makes_it_another_file) {
  DigestCache cache(path());
  cache.remember(status_of(1, 1000), kDigest, kNow);
  struct stat other = status_of(1, 1000);
  other.st_size = 6;
  EXPECT_EQ(cache.find(other), "");
  other = status_of(1, 1000);
  other.st_mtim.tv_nsec = 8;
  EXPECT_EQ(cache.find(other), "");
  other = status_of(1, 1000);
  other.st_ctim.tv_nsec = 8;
  EXPECT_EQ(cache.find(other), "");
  other = status_of(1, 1000);
  other.st_dev = 2;
  EXPECT_EQ(cache.find(other), "");
}

TEST_F(DigestCacheTest, a_file_that_has_just_changed_is_not_remembered) {
  DigestCache cache(path());
  const struct stat fine = status_of(1, kNow / 1'000'000'000 - 1);
  cache.remember(fine, kDigest, kNow - 501'000'000);
  EXPECT_EQ(cache.find(fine), "");
  cache.remember(fine, kDigest, kNow);
  EXPECT_EQ(cache.find(fine), kDigest);
}

TEST_F(DigestCacheTest, where_times_are_coarse_it_takes_longer_until_a_file_is_remembered) {
  DigestCache cache(path());
  struct stat coarse = status_of(1, kNow / 1'000'000'000 - 1);
  coarse.st_ctim.tv_nsec = 20'000'000;
  cache.remember(coarse, kDigest, kNow);
  EXPECT_EQ(cache.find(coarse), "");
  cache.remember(coarse, kDigest, kNow + 1'100'000'000);
  EXPECT_EQ(cache.find(coarse), kDigest);
}

TEST_F(DigestCacheTest, a_damaged_cache_is_an_empty_one) {
  for (const char* text : {"", "junk\n1 1 5 1 1 x\n", "tutti-digests 1\n1 1 5\nx\n"}) {
    std::ofstream(path()) << text;
    EXPECT_EQ(DigestCache(path()).find(status_of(1, 1000)), "");
  }
}

}  // namespace
}  // namespace tutti
