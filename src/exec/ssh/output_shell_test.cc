#include "exec/ssh/output_shell.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr TimePoint kNow{1'000'000'000'000};

// A shell by an ssh that needs no server, and a file to read.
class OutputShellTest : public testing::Test {
 protected:
  OutputShellTest() : path_(getenv("PATH")) {
    std::string folder = fs::temp_directory_path() / "tutti-shell-XXXXXX";
    folder_ = mkdtemp(folder.data());
    std::ofstream(folder_ + "/ssh") << "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n";
    std::ofstream(folder_ + "/file") << "content";
    chmod((folder_ + "/ssh").c_str(), 0755);
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    signal(SIGPIPE, SIG_IGN);  // as the daemon does
  }
  ~OutputShellTest() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  void ask() {
    got_.reset();
    shell_.read(folder_ + "/file", 3, [this](std::string_view bytes) { got_ = bytes; });
  }
  std::string answer() {
    while (!got_) {
      std::vector<pollfd> polled;
      shell_.add_to(polled);
      ::poll(polled.data(), polled.size(), 60'000);
      if (!shell_.serve(polled.data())) return "the shell ended";
    }
    return *got_;
  }

  std::string path_;
  std::string folder_;
  std::optional<std::string> got_;
  OutputShell shell_{SshCommand(Remote{.address = "box"}, "/none", "")};
};

TEST_F(OutputShellTest, it_ends_when_nothing_was_wanted_for_a_while_and_starts_again) {
  ask();
  EXPECT_EQ(answer(), "tent");
  EXPECT_EQ(shell_.rest(kNow), kNow + OutputShell::kRest);
  EXPECT_TRUE(shell_.running());
  EXPECT_FALSE(shell_.rest(kNow + OutputShell::kRest));
  EXPECT_FALSE(shell_.running());
  ask();
  EXPECT_EQ(answer(), "tent");
}

TEST_F(OutputShellTest, it_does_not_rest_while_something_is_wanted) {
  ask();
  EXPECT_EQ(answer(), "tent");
  shell_.rest(kNow);
  ask();
  EXPECT_FALSE(shell_.rest(kNow + OutputShell::kRest));
  EXPECT_TRUE(shell_.running());
  EXPECT_EQ(answer(), "tent");
  EXPECT_EQ(shell_.rest(kNow + OutputShell::kRest), kNow + OutputShell::kRest * 2);
}

}  // namespace
}  // namespace tutti
