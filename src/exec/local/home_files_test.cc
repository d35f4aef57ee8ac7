#include "exec/local/home_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// A home of which files are removed; jobs below 100 are gone.
class HomeFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/tutti-home-files.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    home_ = folder;
    snapshots_ = std::make_unique<SnapshotFolder>(home_);
  }
  void TearDown() override { fs::remove_all(home_); }

  void write(const std::string& path, const std::string& text = "text") {
    fs::create_directories(fs::path(home_ + "/" + path).parent_path());
    std::ofstream(home_ + "/" + path) << text;
  }
  std::vector<std::string> left(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(home_ + "/" + folder))
      if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), home_ + "/" + folder));
    std::sort(names.begin(), names.end());
    return names;
  }
  Files remove(bool dry_run = false) {
    const auto gone = [](JobId job) { return job.value < 100; };
    return *LocalHomeFiles(home_, *snapshots_).remove_of(gone, {dry_run, [] { return true; }});
  }
  Files prune(const std::set<std::string>& needed, bool dry_run = false) {
    return snapshots_->prune(needed, {dry_run, [] { return true; }});
  }
  // A snapshot with one file of this content; its digest.
  std::string snapshot(const std::string& content) {
    const std::string digest = sha256_hex(content);
    EXPECT_TRUE(snapshots_->put_blob(digest, content));
    return *snapshots_->save({{"file", 0644, digest, ""}});
  }
  // As if nobody had used any of them for a day.
  void age() {
    for (const char* folder : {"/snapshots", "/blobs"})
      for (const auto& entry : fs::recursive_directory_iterator(home_ + folder)) {
        const timespec times[2] = {{time(nullptr) - 86400, 0}, {0, UTIME_OMIT}};
        ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
      }
  }

  std::string home_;
  std::unique_ptr<SnapshotFolder> snapshots_;
};

TEST_F(HomeFilesTest, output_of_jobs_that_are_gone_goes) {
  for (const char* name :
       {"7.out", "7.err", "7.a2.out", "7.a10.err", "8/1.out", "8/2.a3.err", "100.out", "100/1.out"})
    write(std::string("logs/0/") + name);
  write("logs/2/2001.out");
  EXPECT_EQ(remove(true).count, 6u);
  EXPECT_EQ(left("logs").size(), 9u);
  const Files removed = remove();
  EXPECT_EQ(removed.count, 6u);
  EXPECT_GT(removed.bytes, 0u);
  EXPECT_THAT(left("logs"), ElementsAre("0/100.out", "0/100/1.out", "2/2001.out"));
  EXPECT_EQ(remove().count, 0u);
}

TEST_F(HomeFilesTest, names_that_tutti_does_not_give_are_somebody_elses) {
  for (const char* name : {"0/7.txt", "0/07.out", "0/7.out.gz", "0/7.a.out", "0/7.a0.out", "0/x",
                           "0/7x.out", "0/.out", "1/7.out", "7.out", "0/-7.out"})
    write(std::string("logs/") + name);
  write("work/notes/7");
  EXPECT_EQ(remove().count, 0u);
  EXPECT_EQ(left("logs").size(), 11u);
  EXPECT_EQ(left("work").size(), 1u);
}

TEST_F(HomeFilesTest, copies_go_as_a_whole_and_links_are_not_followed) {
  write("elsewhere/kept");
  write("work/7/a/b/file");
  write("work/7.new/file");
  write("work/7.1/file");
  write("work/7.of");
  write("work/100/file");
  write("work/100.of");
  write("work/7.mine");
  fs::create_symlink(home_ + "/elsewhere", home_ + "/work/7/a/link");
  fs::create_symlink(home_ + "/elsewhere", home_ + "/work/8");
  fs::permissions(home_ + "/work/7/a/b", fs::perms::none);
  EXPECT_EQ(remove().count, 6u);
  EXPECT_THAT(left("work"), ElementsAre("100.of", "100/file", "7.mine"));
  EXPECT_FALSE(fs::exists(home_ + "/work/7"));
  EXPECT_THAT(left("elsewhere"), ElementsAre("kept"));
}

TEST_F(HomeFilesTest, what_is_too_deep_to_be_reached_is_stuck) {
  write("work/7/file");
  UniqueFd folder(open((home_ + "/work/7").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(250, 'd');
  for (int depth = 0; depth < 20; ++depth) {
    ASSERT_EQ(mkdirat(folder.get(), name.c_str(), 0700), 0);
    folder = UniqueFd(openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const Files removed = remove();
  EXPECT_EQ(removed.count, 1u);
  EXPECT_EQ(removed.stuck, 1u);
}

TEST_F(HomeFilesTest, it_ends_when_it_is_not_to_go_on) {
  for (int i = 1; i <= 9; ++i) write("logs/0/7/" + std::to_string(i) + ".out");
  int asked = 0;
  const auto gone = [](JobId) { return true; };
  const auto some = [&] { return ++asked < 6; };
  EXPECT_LT(LocalHomeFiles(home_, *snapshots_).remove_of(gone, {false, some})->count, 6u);
  EXPECT_GE(left("logs").size(), 4u);
}

TEST_F(HomeFilesTest, snapshots_go_when_nobody_needs_them_and_shared_content_stays) {
  const std::string first = snapshot("one");
  const std::string second = snapshot("two");
  ASSERT_TRUE(snapshots_->put_blob(sha256_hex("three"), "three"));
  const std::string both =
      *snapshots_->save({{"a", 0644, sha256_hex("one"), ""}, {"b", 0644, sha256_hex("three"), ""}});
  age();
  EXPECT_EQ(prune({}, true).count, 6u);
  EXPECT_EQ(prune({both}).count, 3u);
  EXPECT_THAT(left("snapshots"), ElementsAre(both));
  EXPECT_EQ(left("blobs").size(), 2u);
  age();
  EXPECT_EQ(prune({}).count, 3u);
  EXPECT_THAT(left("blobs"), IsEmpty());
}

TEST_F(HomeFilesTest, what_was_used_a_moment_ago_stays) {
  const std::string digest = snapshot("content");
  EXPECT_EQ(prune({}).count, 0u);
  age();
  // A client asks what is missing, and is told that nothing is.
  EXPECT_TRUE(snapshots_->missing({{"file", 0644, sha256_hex("content"), ""}})->empty());
  EXPECT_EQ(prune({}).count, 1u);
  EXPECT_EQ(*snapshots_->save({{"file", 0644, sha256_hex("content"), ""}}), digest);
  age();
  // A job is submitted with it. Its content is what the snapshot needs.
  EXPECT_TRUE(snapshots_->use(digest));
  EXPECT_EQ(prune({}).count, 0u);
  age();
  EXPECT_EQ(prune({}).count, 2u);
  EXPECT_FALSE(snapshots_->use(digest));
  EXPECT_FALSE(snapshots_->use("../tutti.db"));
}

TEST_F(HomeFilesTest, beside_a_snapshot_that_cannot_be_read_all_content_stays) {
  const std::string gone = snapshot("one");
  fs::create_directories(home_ + "/snapshots/" + std::string(64, 'b'));
  age();
  const Files removed = prune({});
  EXPECT_EQ(removed.count, 1u);
  EXPECT_EQ(removed.stuck, 1u);
  EXPECT_EQ(left("blobs").size(), 1u);
}

TEST_F(HomeFilesTest, a_damaged_snapshot_and_copies_that_were_cut_off_go) {
  write("snapshots/" + std::string(64, 'a'), "nonsense");
  write("blobs/new.17.0");
  age();
  EXPECT_EQ(prune({std::string(64, 'a')}).count, 1u);
  age();
  EXPECT_EQ(prune({}).count, 1u);
  EXPECT_THAT(left("snapshots"), IsEmpty());
}

}  // namespace
}  // namespace tutti
