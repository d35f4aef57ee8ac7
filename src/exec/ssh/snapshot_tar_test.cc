#include "exec/ssh/snapshot_tar.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/sha256.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

class SnapshotTarTest : public testing::Test {
 protected:
  SnapshotTarTest() {
    std::string folder = testing::TempDir() + "/tutti-tar.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    snapshots_.emplace(folder_ + "/home");
  }
  ~SnapshotTarTest() override { fs::remove_all(folder_); }

  SnapshotEntry file(const std::string& path, const std::string& content, unsigned mode = 0644) {
    EXPECT_TRUE(snapshots_->put_blob(sha256_hex(content), content));
    return {path, mode, sha256_hex(content), ""};
  }
  std::string blob(const std::string& sha256) const {
    return folder_ + "/home/blobs/" + sha256.substr(0, 2) + "/" + sha256.substr(2);
  }
  Result<void> write_tar(const SnapshotManifest& manifest, TarHoles holes = TarHoles::kAsZeros) {
    const UniqueFd tar(open((folder_ + "/tar").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    return write_snapshot_tar(*snapshots_, manifest, "end", tar.get(), meter_, holes);
  }
  // With words here and there and holes between them; `known` afterwards.
  SnapshotEntry holed(const std::string& path, const std::vector<std::int64_t>& words,
                      std::int64_t size) {
    const std::string source = folder_ + "/" + path;
    std::ofstream(source).close();
    for (const std::int64_t at : words) std::fstream(source).seekp(at) << "word " << at;
    fs::resize_file(source, static_cast<std::uintmax_t>(size));
    struct stat st {};
    EXPECT_EQ(stat(source.c_str(), &st), 0);
    SeenFile seen;
    seen.path = source;
    seen.device = static_cast<std::int64_t>(st.st_dev);
    seen.inode = static_cast<std::int64_t>(st.st_ino);
    seen.as_found = true;
    const Result<std::string> digest = snapshots_->keep_file(seen, {});
    EXPECT_TRUE(digest);
    return {path, 0644, digest ? *digest : "", ""};
  }
  std::int64_t blocks(const std::string& path) const {
    struct stat st {};
    EXPECT_EQ(stat((folder_ + "/" + path).c_str(), &st), 0) << path;
    return st.st_blocks;
  }
  // With a program that hosts may have; false: it complained.
  bool unpack(const std::string& program, const std::string& to) {
    fs::create_directory(folder_ + "/" + to);
    const std::string call = "umask 077; cd '" + folder_ + "/" + to + "' && " + program +
                             " -xpof - <../tar >../said 2>&1 && ! [ -s ../said ]";
    return std::system(call.c_str()) == 0;
  }
  std::string content(const std::string& path) const {
    std::ifstream in(folder_ + "/" + path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  unsigned mode(const std::string& path) const {
    struct stat st {};
    EXPECT_EQ(stat((folder_ + "/" + path).c_str(), &st), 0) << path;
    return st.st_mode & 07777;
  }

  std::string folder_;
  TransferMeter meter_;
  std::optional<SnapshotFolder> snapshots_;
};

TEST_F(SnapshotTarTest, a_large_file_is_checked_once_and_again_when_it_was_changed) {
  const std::string text(3'000'001, 'x');
  const SnapshotManifest manifest = {file("large", text), file("small", "y")};
  EXPECT_FALSE(snapshots_->open_known(sha256_hex(text)));
  for (const char* to : {"first", "second"}) {
    ASSERT_TRUE(write_tar(manifest));
    ASSERT_TRUE(unpack("tar", to));
    EXPECT_EQ(content(std::string(to) + "/large"), text);
    EXPECT_EQ(content(std::string(to) + "/small"), "y");
    EXPECT_TRUE(snapshots_->open_known(sha256_hex(text)));
    EXPECT_FALSE(snapshots_->open_known(sha256_hex("y")));
  }
  std::fstream(blob(sha256_hex(text))).seekp(1'000'000).put('z');
  EXPECT_FALSE(snapshots_->open_known(sha256_hex(text)));
  const Result<void> wrote = write_tar(manifest);
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().code, ErrorCode::kCorrupt);
}

TEST_F(SnapshotTarTest, everything_arrives_whatever_unpacks_it) {
  const std::string far = std::string(150, 'd') + "/" + std::string(200, 'n');
  const std::string odd = "\xff\xfe \n\\ 'q' \"r\" -x \xc3\xa4";
  const std::string large(1'000'003, 'x');
  ASSERT_TRUE(write_tar({file("run.sh", "#!", 0755),
                         file("read only", "r", 0444),
                         file(odd, "o"),
                         file(far, large),
                         file("sub/empty file", ""),
                         {"empty", 0555, "", ""},
                         {"link", 0, "", "sub/" + odd},
                         {"far link", 0, "", far}}));
  for (const std::string program : {"tar", "busybox tar"}) {
    const std::string to = "by " + program;
    ASSERT_TRUE(unpack(program, to)) << content("said");
    EXPECT_EQ(content(to + "/" + odd), "o");
    EXPECT_EQ(content(to + "/" + far), large);
    EXPECT_EQ(content(to + "/far link"), large);
    EXPECT_EQ(fs::read_symlink(folder_ + "/" + to + "/link").string(), "sub/" + odd);
    EXPECT_EQ(mode(to + "/run.sh"), 0755u);
    EXPECT_EQ(mode(to + "/read only"), 0444u);
    EXPECT_EQ(mode(to + "/empty"), 0755u);
    EXPECT_TRUE(fs::is_empty(folder_ + "/" + to + "/sub/empty file"));
    EXPECT_TRUE(fs::exists(folder_ + "/" + to + "/end"));
  }
}

TEST_F(SnapshotTarTest, holes_are_left_out_and_stay_holes) {
  constexpr std::int64_t kMiB = 1 << 20;
  std::vector<std::int64_t> many;
  for (std::int64_t i = 1; i < 60; ++i) many.push_back(i * kMiB);
  const SnapshotManifest manifest = {holed("both ends", {0, 20 * kMiB - 13}, 20 * kMiB),
                                     holed("many", many, 61 * kMiB + 7),
                                     holed("nothing", {}, 30 * kMiB + 1), file("after", "small")};
  // First as what is known to be whole, then as what has to be checked.
  for (const std::string to : {"known", "checked"}) {
    ASSERT_TRUE(write_tar(manifest, TarHoles::kLeftOut));
    EXPECT_LT(fs::file_size(folder_ + "/tar"), 20 * kMiB);
    ASSERT_TRUE(unpack("tar", to)) << content("said");
    for (const SnapshotEntry& entry : manifest) {
      EXPECT_EQ(sha256_hex(content(to + "/" + entry.path)), entry.sha256) << entry.path;
      fs::last_write_time(blob(entry.sha256), fs::file_time_type::clock::now());
      EXPECT_FALSE(snapshots_->open_known(entry.sha256));
    }
    EXPECT_LT(blocks(to + "/both ends") * 512, kMiB);
    EXPECT_LT(blocks(to + "/nothing") * 512, kMiB);
  }
  EXPECT_EQ(meter_.done, 2 * meter_.total);
  ASSERT_TRUE(write_tar(manifest));
  ASSERT_TRUE(unpack("busybox tar", "zeros")) << content("said");
  EXPECT_EQ(sha256_hex(content("zeros/both ends")), manifest[0].sha256);
}

TEST_F(SnapshotTarTest, the_meter_tells_the_bytes_of_files) {
  ASSERT_TRUE(write_tar({file("a", "four"), file("b", std::string(1'000'000, 'x'))}));
  EXPECT_EQ(meter_.total, 1'000'004);
  EXPECT_EQ(meter_.done, 1'000'004);
}

TEST_F(SnapshotTarTest, a_damaged_content_ends_the_stream_without_its_mark) {
  const SnapshotEntry good = file("a", "good");
  const SnapshotEntry bad = file("b", "fine");
  for (const char* damage : {"fin", "fime", "fine and more"}) {
    ASSERT_TRUE(snapshots_->put_blob(bad.sha256, "fine"));
    std::ofstream(blob(bad.sha256)) << damage;
    const UniqueFd tar(open((folder_ + "/tar").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    const Result<void> wrote =
        write_snapshot_tar(*snapshots_, {good, bad}, "end", tar.get(), meter_);
    EXPECT_EQ(wrote.error().code, ErrorCode::kCorrupt);
    EXPECT_FALSE(fs::exists(blob(bad.sha256)));
    unpack("tar", std::string("to ") + damage);
    EXPECT_FALSE(fs::exists(folder_ + "/to " + damage + "/end"));
  }
}

TEST_F(SnapshotTarTest, sizes_beyond_eight_gibibytes_are_told_and_a_reader_that_goes_is_noticed) {
  const SnapshotEntry huge = file("huge", "x");
  fs::resize_file(blob(huge.sha256), (std::uintmax_t{9} << 30) + 5);
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  const UniqueFd writing(fds[1]);
  std::array<unsigned char, 512> header{};
  std::thread reader([&] {
    const UniqueFd reading(fds[0]);
    EXPECT_EQ(read(reading.get(), header.data(), header.size()), 512);
  });
  const auto before = signal(SIGPIPE, SIG_IGN);
  const Result<void> wrote = write_snapshot_tar(*snapshots_, {huge}, "end", writing.get(), meter_);
  signal(SIGPIPE, before);
  reader.join();
  EXPECT_EQ(wrote.error().code, ErrorCode::kUnavailable);
  // GNU's way: the field's first bit, then the number with its highest byte first.
  std::uint64_t size = 0;
  for (std::size_t i = 125; i < 136; ++i) size = size << 8 | header[i];
  EXPECT_EQ(header[124], 0x80);
  EXPECT_EQ(size, (std::uint64_t{9} << 30) + 5);
}

}  // namespace
}  // namespace tutti
