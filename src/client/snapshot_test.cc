#include "client/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "client/digest_cache.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    std::string folder = "/tmp/tutti-snapshot-test-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  ~SnapshotTest() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((fs::path(folder_) / path).parent_path());
    std::ofstream(fs::path(folder_) / path) << text;
  }

  std::string folder_;
};

// A daemon that keeps blobs in memory.
class BlobClient : public Client {
 public:
  Result<boost::json::value> request(std::string_view, std::string_view target,
                                     std::string_view body) override {
    if (target.starts_with("/v1/blobs/")) {
      copied.push_back(
          std::string(boost::json::parse({body.data(), body.size()}).at("path").as_string()));
      if (!here) return not_found("no such file");
      blobs[std::string(target.substr(std::string_view("/v1/blobs/").size()))] = "copied";
      return boost::json::value(boost::json::object());
    }
    EXPECT_EQ(target, "/v1/snapshots");
    ++manifests;
    manifest = boost::json::parse({body.data(), body.size()});
    if (meanwhile) meanwhile();
    boost::json::array missing;
    for (const auto& file : manifest.at("files").as_array()) {
      const auto* hash = file.as_object().if_contains("sha256");
      if (hash != nullptr && blobs.count(std::string(hash->as_string())) == 0)
        missing.push_back(*hash);
    }
    return boost::json::value{{"digest", "d1"}, {"missing", missing}};
  }
  Result<void> upload(std::string_view target, std::string_view bytes) override {
    blobs[std::string(target.substr(std::string_view("/v1/blobs/").size()))] = bytes;
    return {};
  }
  Result<void> download(std::string_view, const Sink&) override { return {}; }
  Result<void> stream(std::string_view, StreamListener&) override { return {}; }

  std::map<std::string, std::string> blobs;
  int manifests = 0;
  boost::json::value manifest;      // the last
  std::function<void()> meanwhile;  // between that and the sending of content
  bool here = true;                 // whether it sees the same files
  std::vector<std::string> copied;
};

const auto kQuiet = [](std::size_t, std::size_t) {};

TEST_F(SnapshotTest, ignored_files_and_git_are_left_out) {
  write("a.txt", "hello");
  write("big.ckpt", "x");
  write("sub/b.py", "pass");
  write("sub/c.tmp", "x");
  write(".git/config", "x");
  write(".gitignore", "*.ckpt\n");
  write("sub/.tuttiignore", "*.tmp\n");
  fs::create_symlink("a.txt", fs::path(folder_) / "link");
  fs::permissions(fs::path(folder_) / "a.txt", fs::perms(0750));
  auto files = list_snapshot(folder_, kQuiet);
  ASSERT_TRUE(files);
  std::string names;
  for (const SnapshotFile& file : *files) names += file.path + ";";
  EXPECT_EQ(names, ".gitignore;a.txt;link;sub/.tuttiignore;sub/b.py;");
  EXPECT_EQ(files->at(1).sha256,
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  EXPECT_EQ(files->at(1).mode, 0750u);
  EXPECT_EQ(files->at(2).link, "a.txt");
}

TEST_F(SnapshotTest, only_missing_content_is_sent) {
  write("a.txt", "hello");
  write("b.txt", "hello");
  write("c.txt", "other");
  BlobClient client;
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.blobs.size(), 2u);
  EXPECT_EQ(client.manifests, 2);
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.manifests, 3);
}

TEST_F(SnapshotTest, a_large_file_is_copied_by_a_daemon_that_finds_it_and_sent_to_another) {
  const std::string large(300 * 1024, 'x');
  write("large", large);
  BlobClient near;
  EXPECT_EQ(take_snapshot(near, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(near.copied, std::vector<std::string>{folder_ + "/large"});
  EXPECT_EQ(near.blobs.begin()->second, "copied");
  BlobClient far;
  far.here = false;
  EXPECT_EQ(take_snapshot(far, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(far.blobs.begin()->second, large);
}

TEST_F(SnapshotTest, what_changes_meanwhile_is_taken_as_it_is_when_it_is_sent) {
  for (const char* name : {"first", "gone", "same"}) write(name, "old");
  BlobClient client;
  client.meanwhile = [&] {
    write("first", "new " + std::to_string(client.manifests));
    fs::remove(fs::path(folder_) / "gone");
  };
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.manifests, 2);
  const auto& files = client.manifest.at("files").as_array();
  ASSERT_EQ(files.size(), 2u);
  const auto content = [&](std::size_t i) {
    return client.blobs.at(std::string(files[i].at("sha256").as_string()));
  };
  EXPECT_EQ(content(0), "new 1");
  EXPECT_EQ(content(1), "old");
}

TEST_F(SnapshotTest, a_part_of_the_folder_can_be_chosen) {
  write("src/a/b.py", "x");
  write("src2/c", "x");
  write("data/d", "x");
  write("top", "x");
  const SnapshotChoice choice{{"./src/", "data/d"}, "b.py\n", ""};
  auto files = list_snapshot(folder_, kQuiet, choice);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->at(0).path, "data/d");
}

TEST_F(SnapshotTest, a_known_digest_is_believed_until_the_file_changes) {
  write("work/a", "hello");
  const SnapshotChoice choice{{}, "", folder_ + "/digests"};
  struct stat status {};
  ASSERT_EQ(::stat((folder_ + "/work/a").c_str(), &status), 0);
  DigestCache cache(choice.digests);
  cache.remember(status, std::string(64, 'f'), INT64_MAX);
  cache.save();
  EXPECT_EQ(list_snapshot(folder_ + "/work", kQuiet, choice)->at(0).sha256, std::string(64, 'f'));
  write("work/a", "hello!");
  EXPECT_NE(list_snapshot(folder_ + "/work", kQuiet, choice)->at(0).sha256, std::string(64, 'f'));
}

TEST_F(SnapshotTest, an_unreadable_folder_is_named) {
  auto files = list_snapshot(folder_ + "/nowhere", kQuiet);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace tutti
