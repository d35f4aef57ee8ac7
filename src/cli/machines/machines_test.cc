#include "cli/machines/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A home with a key, and a current folder; both vanish with the test.
class MachinesTest : public ::testing::Test {
 protected:
  MachinesTest() : before_(fs::current_path()) {
    std::string made = "/tmp/tutti-machines-test-XXXXXX";
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    root_ = made;
    home_ = root_ + "/home";
    write("home/.ssh/id", "key");
    fs::create_directories(root_ + "/here");
    fs::current_path(root_ + "/here");
  }
  ~MachinesTest() override {
    fs::current_path(before_);
    fs::remove_all(root_);
  }
  void write(const std::string& path, const std::string& text) const {
    const fs::path whole = root_ + "/" + path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  NamedMachine one(const std::string& word) const {
    const auto found = find_machines(word, home_);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found && found->size() == 1 ? found->front() : NamedMachine{};
  }

  fs::path before_;
  std::string root_;
  std::string home_;
};

TEST_F(MachinesTest, a_file_is_looked_up_as_given_then_with_yaml_then_in_the_home) {
  write("home/.local/var/m.yaml", "ip: kept\n");
  EXPECT_EQ(one("m").address, "kept");
  EXPECT_EQ(one("m.yaml").address, "kept");
  write("here/m.yaml", "ip: here\n");
  EXPECT_EQ(one("m").address, "here");
  EXPECT_EQ(one("m.yaml").address, "here");
  write("here/m", "ip: plain\n");
  EXPECT_EQ(one("m").address, "plain");
  EXPECT_EQ(one("m").name, "m");
}

TEST_F(MachinesTest, a_file_may_have_a_name_that_no_node_has) {
  write("here/my 100% box, new.yaml", "ip: there\n");
  EXPECT_EQ(one("my 100% box, new.yaml").name, "my-100--box--new");
  EXPECT_EQ(one("my 100% box, new.yaml").given, "my 100% box, new.yaml");
}

TEST_F(MachinesTest, the_home_and_the_current_folder_are_put_before_keys) {
  write("here/a.yaml", "ip: box\nssh_key_path: ~/.ssh/id\n");
  EXPECT_EQ(one("a").key, home_ + "/.ssh/id");
  write("here/id", "key");
  write("here/b.yaml", "ip: box\nssh_key_path: id\n");
  EXPECT_EQ(one("b").key, fs::current_path().string() + "/id");
}

TEST_F(MachinesTest, a_key_that_is_not_there_is_named_with_its_file) {
  write("here/a.yaml", "ip: box\nssh_key_path: ~/.ssh/other\n");
  const auto found = find_machines("a.yaml", home_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("a.yaml: cannot read the key '~/.ssh/other'"));
}

TEST_F(MachinesTest, names_without_a_file_are_hosts_and_patterns) {
  EXPECT_EQ(one("ada@box1:22"), (NamedMachine{"ada@box1:22", "box1", "ada@box1:22", ""}));
  EXPECT_EQ(one("ssh://box1"), (NamedMachine{"ssh://box1", "box1", "box1", ""}));
  const auto many = find_machines("box[01-16]", home_);
  ASSERT_TRUE(many);
  EXPECT_THAT(*many, SizeIs(16));
  EXPECT_EQ((*many)[15].name, "box16");
}

TEST_F(MachinesTest, a_host_may_have_the_name_of_some_other_file) {
  write("here/box", "#!/bin/sh\necho hello\n");
  EXPECT_EQ(one("box").address, "box");
}

TEST_F(MachinesTest, a_missing_or_broken_file_is_an_error) {
  EXPECT_FALSE(find_machines("none.yaml", home_));
  EXPECT_FALSE(find_machines("folder/none", home_));
  write("here/bad.yaml", "ip: box\nuser: ada\n");
  const auto found = find_machines("bad.yaml", home_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("bad.yaml:2:1: unknown field 'user'"));
}

}  // namespace
}  // namespace tutti
