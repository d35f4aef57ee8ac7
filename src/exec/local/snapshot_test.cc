#include "exec/local/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/sha256.h"
#include "exec/local/local_fixture.h"

namespace tutti {
namespace {

const std::string kHello = sha256_hex("hello");

SnapshotEntry file(const std::string& path, const std::string& sha = kHello, unsigned mode = 0644) {
  return {path, mode, sha, ""};
}
SnapshotEntry link(const std::string& path, const std::string& target) {
  return {path, 0, "", target};
}
SnapshotEntry folder(const std::string& path) {
  return {path, 0755, "", ""};
}

class SnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/tutti-snapshot.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    home_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(home_); }
  std::string content(const std::string& path) {
    std::ifstream in(home_ + "/" + path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::string home_;
};

TEST(SnapshotText, any_byte_but_nul_comes_back) {
  std::string odd;
  for (int c = 1; c < 256; ++c) {
    if (c != '/') odd += static_cast<char>(c);
  }
  const SnapshotManifest manifest = {file("a/" + odd), folder("b b"), link("c", "../" + odd)};
  const Result<std::string> text = snapshot_text(manifest);
  ASSERT_TRUE(text);
  const Result<SnapshotManifest> back = parse_snapshot(*text);
  ASSERT_TRUE(back);
  EXPECT_EQ(snapshot_text(*back).value(), *text);
  EXPECT_EQ(back->at(0).path, "a/" + odd);
  EXPECT_EQ(back->at(2).link_target, "../" + odd);
}

TEST(SnapshotText, the_order_of_entries_does_not_matter) {
  EXPECT_EQ(snapshot_text({file("a"), file("b")}).value(),
            snapshot_text({file("b"), file("a")}).value());
}

TEST(SnapshotText, paths_that_leave_the_work_directory_are_refused) {
  for (const char* path : {"", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "./a", ".."}) {
    EXPECT_FALSE(snapshot_text({file(path)})) << path;
  }
  EXPECT_FALSE(snapshot_text({file(std::string("a\0b", 3))}));
}

TEST(SnapshotText, paths_through_links_and_files_are_refused) {
  EXPECT_FALSE(snapshot_text({link("a", "/etc"), file("a/passwd")}));
  EXPECT_FALSE(snapshot_text({link("a", "/etc"), file("a!x"), file("a/b/c")}));
  EXPECT_FALSE(snapshot_text({file("a"), file("a/b")}));
  EXPECT_TRUE(snapshot_text({folder("a"), file("a/b")}));
  EXPECT_FALSE(snapshot_text({file("a"), link("a", "b")}));
}

TEST(SnapshotText, damaged_text_is_refused) {
  const std::string good = snapshot_text({file("a"), link("b", "c")}).value();
  EXPECT_FALSE(parse_snapshot(""));
  EXPECT_FALSE(parse_snapshot("tutti-snapshot 2\n"));
  for (std::size_t i = 1; i < good.size(); ++i) {
    const Result<SnapshotManifest> cut = parse_snapshot(good.substr(0, i));
    if (cut) {
      EXPECT_EQ(good[i - 1], '\n') << i;
    }
  }
  EXPECT_FALSE(parse_snapshot("tutti-snapshot 1\nf 644 " + kHello + " ../x\n"));
  EXPECT_FALSE(parse_snapshot("tutti-snapshot 1\nf 644 " + kHello + " a b\n"));
  EXPECT_FALSE(parse_snapshot("tutti-snapshot 1\nf 944 " + kHello + " a\n"));
  EXPECT_FALSE(parse_snapshot("tutti-snapshot 1\nl x%2 a\n"));
}

TEST_F(SnapshotTest, content_is_asked_for_once_and_kept) {
  SnapshotFolder snapshots(home_);
  const SnapshotManifest manifest = {file("a"), file("b")};
  EXPECT_EQ(snapshots.missing(manifest).value(), std::vector<std::string>{kHello});
  EXPECT_EQ(snapshots.save(manifest).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(snapshots.put_blob(kHello, "hello"));
  EXPECT_TRUE(snapshots.missing(manifest).value().empty());
  EXPECT_EQ(snapshots.save(manifest).value(), sha256_hex(snapshot_text(manifest).value()));
}

TEST_F(SnapshotTest, content_with_another_digest_is_refused) {
  SnapshotFolder snapshots(home_);
  EXPECT_EQ(snapshots.put_blob(kHello, "bye").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(snapshots.put_blob("../../x", "bye").error().code, ErrorCode::kInvalidInput);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/blobs"));
}

TEST_F(SnapshotTest, a_work_directory_is_made_as_it_was) {
  SnapshotFolder snapshots(home_);
  ASSERT_TRUE(snapshots.put_blob(kHello, "hello"));
  const std::string digest =
      snapshots.save({file("src/run.sh", kHello, 0755), link("now", "src"), folder("empty")})
          .value();
  ASSERT_TRUE(snapshots.materialise(digest, home_ + "/w"));
  EXPECT_EQ(content("w/now/run.sh"), "hello");
  EXPECT_TRUE(std::filesystem::is_directory(home_ + "/w/empty"));
  struct stat st {};
  ASSERT_EQ(stat((home_ + "/w/src/run.sh").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0755u);
}

TEST_F(SnapshotTest, a_work_directory_that_cannot_be_made_is_not_there) {
  SnapshotFolder snapshots(home_);
  ASSERT_TRUE(snapshots.put_blob(kHello, "hello"));
  const std::string digest = snapshots.save({file("a")}).value();
  std::filesystem::remove_all(home_ + "/blobs");
  EXPECT_FALSE(snapshots.materialise(digest, home_ + "/w"));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/w"));
  EXPECT_FALSE(snapshots.materialise(std::string(64, '0'), home_ + "/w"));
}

class SnapshotRunTest : public LocalFixture {
 protected:
  StartAttempt order(std::uint32_t index, const std::string& digest) {
    auto shared = context();
    shared->snapshot = digest;
    return shell_order(index, "cat a; pwd", shared);
  }
};

TEST_F(SnapshotRunTest, a_job_with_a_snapshot_runs_in_a_folder_made_from_it) {
  SnapshotFolder snapshots(home_);
  ASSERT_TRUE(snapshots.put_blob(kHello, "hello"));
  const std::string digest = snapshots.save({file("a")}).value();
  executor_->order({order(0, digest), order(1, digest)});
  EXPECT_TRUE(sink_->await_end(task(0)).outcome.succeeded());
  EXPECT_TRUE(sink_->await_end(task(1)).outcome.succeeded());
  EXPECT_EQ(content("logs/1/1.out"), "hello" + home_ + "/work/1\n");
}

// After an older database was restored, which gives the number once more.
TEST_F(SnapshotRunTest, a_folder_that_was_made_from_another_snapshot_is_set_aside) {
  SnapshotFolder snapshots(home_);
  ASSERT_TRUE(snapshots.put_blob(kHello, "hello"));
  const std::string former = snapshots.save({file("a"), file("b")}).value();
  const std::string digest = snapshots.save({file("a")}).value();
  run(order(0, former));
  run(order(1, digest));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/work/1/b"));
  EXPECT_TRUE(std::filesystem::exists(home_ + "/work/1.1/b"));
}

TEST_F(SnapshotRunTest, a_folder_of_which_nothing_is_noted_is_its_own) {
  std::filesystem::create_directories(home_ + "/work/1");
  std::ofstream(home_ + "/work/1/a") << "older";
  EXPECT_TRUE(run(order(0, std::string(64, '0'))).outcome.succeeded());
  EXPECT_EQ(content("logs/1/0.out"), "older" + home_ + "/work/1\n");
}

TEST_F(SnapshotRunTest, a_job_whose_snapshot_is_gone_is_not_started) {
  const AttemptEnded ended = run(order(0, std::string(64, '0')));
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
  EXPECT_EQ(ended.outcome.message.find("cannot make the work directory from its snapshot"), 0u);
  EXPECT_TRUE(ended.released);
}

SeenFile seen(const std::string& path) {
  struct stat st {};
  EXPECT_EQ(stat(path.c_str(), &st), 0);
  const auto ns = [](const timespec& at) { return at.tv_sec * 1'000'000'000 + at.tv_nsec; };
  return {path,
          static_cast<std::int64_t>(st.st_dev),
          static_cast<std::int64_t>(st.st_ino),
          st.st_size,
          ns(st.st_mtim),
          ns(st.st_ctim)};
}

TEST_F(SnapshotTest, a_file_of_this_machine_is_kept_and_its_digest_told) {
  SnapshotFolder snapshots(home_);
  std::ofstream(home_ + "/source") << "hello";
  EXPECT_EQ(snapshots.keep_file(seen(home_ + "/source"), {}).value(), kHello);
  EXPECT_EQ(snapshots.keep_file(seen(home_ + "/source"), {}).value(), kHello);
  EXPECT_TRUE(snapshots.missing({file("a")})->empty());
  const std::string large(700'000, 'x');
  std::ofstream(home_ + "/large") << large;
  EXPECT_EQ(snapshots.keep_file(seen(home_ + "/large"), {}).value(), sha256_hex(large));
  EXPECT_EQ(snapshots.blob_size(sha256_hex(large)).value(), 700'000);
}

TEST_F(SnapshotTest, content_that_is_there_is_not_written_again) {
  SnapshotFolder snapshots(home_);
  for (const std::string& content : {std::string("hello"), std::string(700'000, 'x')}) {
    std::ofstream(home_ + "/source", std::ios::trunc) << content;
    const std::string digest = snapshots.keep_file(seen(home_ + "/source"), {}).value();
    const std::string blob = home_ + "/blobs/" + digest.substr(0, 2) + "/" + digest.substr(2);
    const SeenFile before = seen(blob);
    EXPECT_EQ(snapshots.keep_file(seen(home_ + "/source"), {}).value(), digest);
    EXPECT_EQ(seen(blob), before);
  }
}

TEST_F(SnapshotTest, a_file_that_is_not_the_one_that_was_seen_is_not_kept) {
  SnapshotFolder snapshots(home_);
  std::ofstream(home_ + "/source") << "hello";
  std::filesystem::create_symlink("source", home_ + "/link");
  const SeenFile good = seen(home_ + "/source");
  std::vector<SeenFile> others(8, good);
  ++others[0].device;
  ++others[1].inode;
  ++others[2].size;
  ++others[3].modified;
  ++others[4].changed;
  others[1].as_found = true;
  others[5].path = home_ + "/none";
  others[6].path = home_ + "/link";
  others[7].path = "source";
  for (const SeenFile& other : others)
    EXPECT_EQ(snapshots.keep_file(other, {}).error().code, ErrorCode::kNotFound) << other.path;
  EXPECT_EQ(snapshots.keep_file(seen(home_), {}).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/blobs"));
}

TEST_F(SnapshotTest, a_file_that_is_being_written_is_kept_as_found_if_that_is_wanted) {
  SnapshotFolder snapshots(home_);
  std::ofstream(home_ + "/source") << "old";
  SeenFile before = seen(home_ + "/source");
  std::ofstream(home_ + "/source", std::ios::app) << " and new";
  EXPECT_EQ(snapshots.keep_file(before, {}).error().code, ErrorCode::kNotFound);
  before.as_found = true;
  EXPECT_EQ(snapshots.keep_file(before, {}).value(), sha256_hex("old and new"));
}

TEST_F(SnapshotTest, damaged_content_is_noticed_and_asked_for_again) {
  SnapshotFolder snapshots(home_);
  ASSERT_TRUE(snapshots.put_blob(kHello, "hello"));
  std::ofstream(home_ + "/blobs/" + kHello.substr(0, 2) + "/" + kHello.substr(2)) << "hellO";
  std::string read;
  const Result<void> whole = snapshots.read_blob(kHello, [&](std::string_view bytes) {
    read += bytes;
    return Result<void>();
  });
  EXPECT_EQ(whole.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(read, "hellO");
  EXPECT_EQ(snapshots.missing({file("a")})->size(), 1u);
}

}  // namespace
}  // namespace tutti
