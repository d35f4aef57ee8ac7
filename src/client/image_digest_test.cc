#include "client/image_digest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

// A context with a Dockerfile and one file.
class ImageDigestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/tutti-image-test-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    build_ = {folder + "/Dockerfile", folder, "", {"A=1"}};
    write("Dockerfile", "FROM scratch\n");
    write("data", "one");
  }
  void TearDown() override { std::filesystem::remove_all(build_.context); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(build_.context + "/" + name) << text;
  }
  std::string digest() const {
    const auto made = image_digest(build_, "");
    EXPECT_TRUE(made);
    return made ? *made : "";
  }

  ImageBuild build_;
};

TEST_F(ImageDigestTest, the_same_content_has_the_same_digest) {
  const std::string before = digest();
  EXPECT_EQ(before.size(), 24u);
  write("data", "one");
  EXPECT_EQ(digest(), before);
}

TEST_F(ImageDigestTest, files_target_and_arguments_count) {
  const std::string before = digest();
  write("data", "two");
  const std::string changed = digest();
  build_.target = "prod";
  const std::string other_target = digest();
  build_.args = {"A=2"};
  EXPECT_NE(changed, before);
  EXPECT_NE(other_target, changed);
  EXPECT_NE(digest(), other_target);
}

TEST_F(ImageDigestTest, what_the_dockerignore_leaves_out_does_not_count) {
  write(".dockerignore", "*.log\n");
  const std::string before = digest();
  write("a.log", "noise");
  EXPECT_EQ(digest(), before);
}

TEST_F(ImageDigestTest, what_git_ignores_counts) {
  write(".gitignore", "data\n");
  const std::string before = digest();
  write("data", "two");
  EXPECT_NE(digest(), before);
}

TEST_F(ImageDigestTest, a_missing_dockerfile_is_told) {
  build_.dockerfile += ".none";
  const auto made = image_digest(build_, "");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("no Dockerfile"), std::string::npos);
}

}  // namespace
}  // namespace tutti
