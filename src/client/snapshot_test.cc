#include "client/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "base/sha256.h"
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

  // The paths that are taken of a folder below, each with a ';' behind it.
  std::string names_in(const std::string& below, const SnapshotChoice& choice = {}) {
    std::string names;
    const auto files = list_snapshot(
        folder_ + "/" + below, [](auto, auto) {}, choice);
    EXPECT_TRUE(files);
    for (const SnapshotFile& file : *files) names += file.path + (file.is_folder ? "/;" : ";");
    return names;
  }

  std::string folder_;
};

std::string sha256_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  return sha256_hex(content);
}

// A daemon that keeps blobs in memory.
class BlobClient : public Client {
 public:
  Result<boost::json::value> request(std::string_view, std::string_view target,
                                     std::string_view body) override {
    if (target == "/v1/status") return boost::json::value{{"home", home}};
    if (target == "/v1/blobs") return keep(boost::json::parse({body.data(), body.size()}));
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
  Result<boost::json::value> keep(const boost::json::value& body) {
    boost::json::array digests;
    if (older) return not_found("there is no such route");
    ++asked;
    for (const auto& file : body.at("files").as_array()) {
      const std::string path(file.at("path").as_string());
      struct stat status {};
      if (here && path == changed && file.at("as_found").as_bool()) {
        digests.push_back(boost::json::value(std::string(64, 'f')));
        blobs[std::string(64, 'f')] = "as found";
        continue;
      }
      const bool found = here && path != changed && ::stat(path.c_str(), &status) == 0;
      digests.push_back(found ? boost::json::value(sha256_of(path)) : boost::json::value());
      if (!found) continue;
      EXPECT_EQ(file.at("size").as_int64(), status.st_size);
      EXPECT_EQ(file.at("inode").as_int64(), static_cast<std::int64_t>(status.st_ino));
      blobs[sha256_of(path)] = "kept";
    }
    return boost::json::value{{"digests", digests}};
  }
  Result<void> upload(std::string_view target, std::string_view bytes) override {
    blobs[std::string(target.substr(std::string_view("/v1/blobs/").size()))] = bytes;
    return {};
  }
  Result<void> download(std::string_view, const Sink&) override { return {}; }
  Result<void> stream(std::string_view, StreamListener&) override { return {}; }

  std::string home;
  std::map<std::string, std::string> blobs;
  int manifests = 0;
  boost::json::value manifest;      // the last
  std::function<void()> meanwhile;  // between that and the sending of content
  bool here = true;                 // whether it sees the same files
  std::string changed;              // a file that it does not find as it was seen
  bool older = false;               // it has no route for that
  int asked = 0;
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

TEST_F(SnapshotTest, rules_of_the_repository_above_count) {
  write("repo/.git/info/exclude", "/sub/deep/secret\n*.log\n");
  write("repo/.gitignore", "data/\n*.ckpt\n/top\n!kept.log\n");
  write("repo/sub/.gitignore", "!good.ckpt\n/deep/anchored\n");
  write("repo/sub/.tuttiignore", "*.tmp\n");
  for (const char* name : {"a.ckpt", "a.log", "a.tmp", "anchored", "data/x", "good.ckpt",
                           "kept.log", "results/r", "secret", "top", "x/secret"})
    write(std::string("repo/sub/deep/") + name, "x");
  EXPECT_EQ(names_in("repo/sub/deep", {{}, "/results/\n", ""}), "good.ckpt;kept.log;top;x/secret;");
  fs::create_symlink("repo/sub/deep", fs::path(folder_) / "elsewhere");
  EXPECT_EQ(names_in("elsewhere/"), "good.ckpt;kept.log;results/r;top;x/secret;");
}

TEST_F(SnapshotTest, rules_above_count_neither_beyond_a_repository_nor_without_one) {
  write(".gitignore", "*.ckpt\n");
  write("plain/a.ckpt", "x");
  write("repo/.git/config", "x");
  write("repo/sub/a.ckpt", "x");
  EXPECT_EQ(names_in("plain"), "a.ckpt;");
  EXPECT_EQ(names_in("repo/sub"), "a.ckpt;");
}

TEST_F(SnapshotTest, a_folder_that_its_repository_ignores_is_taken_when_it_is_asked_for) {
  write("repo/.git/config", "x");
  write("repo/.gitignore", "build/\n*.o\n");
  write("repo/build/out/a.o", "x");
  EXPECT_EQ(names_in("repo/build/out"), "a.o;");
  EXPECT_EQ(names_in("repo"), ".gitignore;");
}

TEST_F(SnapshotTest, folders_of_which_nothing_is_taken_are_kept) {
  write("work/.gitignore", "*.ckpt\ngone/\n");
  write("work/results/a.ckpt", "x");
  for (const char* name : {"empty/deep", "gone", "other"})
    fs::create_directories(folder_ + "/work/" + name);
  EXPECT_EQ(names_in("work"), ".gitignore;empty/deep/;other/;results/;");
  EXPECT_EQ(names_in("work", {{"empty/nothing", "other"}, "", ""}), "other/;");
  BlobClient client;
  EXPECT_EQ(take_snapshot(client, folder_ + "/work", kQuiet).value(), "d1");
  const auto& folder = client.manifest.at("files").at(1).as_object();
  EXPECT_EQ(folder.at("path").as_string(), "empty/deep");
  EXPECT_FALSE(folder.contains("sha256") || folder.contains("link"));
}

TEST_F(SnapshotTest, a_daemon_elsewhere_is_sent_missing_content_once) {
  write("a.txt", "hello");
  write("b.txt", "hello");
  write("c.txt", "other");
  BlobClient client;
  client.here = false;
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.blobs.size(), 2u);
  EXPECT_EQ(client.blobs[sha256_of(folder_ + "/c.txt")], "other");
  EXPECT_EQ(client.manifests, 2);
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.manifests, 3);
}

TEST_F(SnapshotTest, an_older_daemon_that_reads_no_files_is_sent_them) {
  write("a.txt", "hello");
  BlobClient client;
  client.older = true;
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.blobs.begin()->second, "hello");
}

TEST_F(SnapshotTest, a_daemon_here_reads_all_files_itself_with_one_request) {
  write("a.txt", "hello");
  write("sub/c.txt", "other");
  BlobClient client;
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.asked, 1);
  EXPECT_EQ(client.manifests, 1);
  EXPECT_EQ(client.blobs[sha256_of(folder_ + "/sub/c.txt")], "kept");
}

TEST_F(SnapshotTest, content_that_a_daemon_here_does_not_find_as_it_was_seen_is_sent) {
  write("a.txt", "hello");
  write("c.txt", "other");
  BlobClient client;
  client.changed = folder_ + "/c.txt";
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.blobs[sha256_of(folder_ + "/a.txt")], "kept");
  EXPECT_EQ(client.blobs[sha256_of(folder_ + "/c.txt")], "other");
}

TEST_F(SnapshotTest, content_of_known_files_is_kept_by_a_daemon_that_lacks_it) {
  write("work/a", "hello");
  const SnapshotChoice choice{{}, "", folder_ + "/digests"};
  struct stat status {};
  ASSERT_EQ(::stat((folder_ + "/work/a").c_str(), &status), 0);
  DigestCache cache(choice.digests);
  cache.remember(status, sha256_of(folder_ + "/work/a"), INT64_MAX);
  cache.save();
  BlobClient client;
  EXPECT_EQ(take_snapshot(client, folder_ + "/work", kQuiet, choice).value(), "d1");
  EXPECT_EQ(client.manifests, 2);
  EXPECT_EQ(client.blobs.begin()->second, "kept");
}

TEST_F(SnapshotTest, many_files_are_kept_with_a_few_requests) {
  for (int i = 0; i < 1001; ++i) write("f" + std::to_string(i), std::to_string(i));
  std::size_t last = 0;
  BlobClient client;
  const auto step = [&](std::size_t done, std::size_t) { last = done; };
  EXPECT_EQ(take_snapshot(client, folder_, step).value(), "d1");
  EXPECT_EQ(client.asked, 2);
  EXPECT_EQ(client.blobs.size(), 1001u);
  EXPECT_GT(last, 900u);
}

TEST_F(SnapshotTest, a_file_too_large_to_be_sent_elsewhere_is_named) {
  write("large", "");
  fs::resize_file(fs::path(folder_) / "large", (256u << 20) + 1);
  BlobClient client;
  client.here = false;
  EXPECT_NE(take_snapshot(client, folder_, kQuiet).error().message.find("/large is larger than"),
            std::string::npos);
}

TEST_F(SnapshotTest,
       a_file_too_large_to_be_sent_that_is_being_written_is_taken_as_the_daemon_finds_it) {
  write("large", "");
  fs::resize_file(fs::path(folder_) / "large", (256u << 20) + 1);
  BlobClient client;
  client.changed = folder_ + "/large";
  EXPECT_EQ(take_snapshot(client, folder_, kQuiet).value(), "d1");
  EXPECT_EQ(client.manifest.at("files").at(0).at("sha256").as_string(), std::string(64, 'f'));
  EXPECT_EQ(client.manifests, 2);
}

TEST_F(SnapshotTest, what_changes_meanwhile_is_taken_as_it_is_when_it_is_sent) {
  for (const char* name : {"first", "gone", "same"}) write(name, "old");
  BlobClient client;
  client.here = false;
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
  EXPECT_EQ(names_in("", choice), "data/d;src/a/;");
}

TEST_F(SnapshotTest, the_home_of_the_daemon_is_left_out_by_whatever_name) {
  write("work/a", "x");
  write("work/sub/home/token", "x");
  write("work/sub/home/work/1/b", "x");
  fs::create_directory_symlink("work/sub/home", fs::path(folder_) / "other");
  EXPECT_EQ(names_in("work", {.home = folder_ + "/other"}), "a;sub/;");
  EXPECT_EQ(names_in("work/sub/home/work/1", {.home = folder_ + "/other"}), "b;");
  EXPECT_EQ(names_in("work/sub", {.home = folder_ + "/gone"}), "home/token;home/work/1/b;");
  const auto itself = list_snapshot(folder_ + "/other", kQuiet, {.home = folder_ + "/other"});
  ASSERT_FALSE(itself);
  EXPECT_NE(itself.error().message.find("is Tutti's own home"), std::string::npos);
}

TEST_F(SnapshotTest, a_daemon_is_asked_for_its_home_before_it_is_given_files) {
  write("work/a", "x");
  write("work/home/token", "x");
  BlobClient client;
  client.home = folder_ + "/work/home";
  ASSERT_TRUE(take_snapshot(client, folder_ + "/work", kQuiet));
  EXPECT_EQ(client.manifest.at("files").as_array().size(), 1u);
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
