#include "client/autostart.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/home.h"

namespace tutti {
namespace {

class AutostartTest : public ::testing::Test {
 protected:
  AutostartTest() {
    std::string folder = "/tmp/tutti-autostart-test-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    endpoint_.home = folder + "/home";
    endpoint_.socket = socket_path(endpoint_.home);
    folder_ = folder;
  }
  ~AutostartTest() override { std::filesystem::remove_all(folder_); }

  std::string program(const std::string& text) {
    const std::string path = folder_ + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << text;
    EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
    return path;
  }

  std::string folder_;
  Endpoint endpoint_;
};

TEST_F(AutostartTest, a_daemon_that_gives_up_is_reported_with_the_end_of_its_log) {
  auto started = start_daemon(endpoint_, program("echo the disk is full >&2; exit 3\n"), {});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(started.error().message.find("the disk is full"), std::string::npos);
}

TEST_F(AutostartTest, what_earlier_daemons_wrote_is_not_blamed_on_this_one) {
  std::filesystem::create_directories(endpoint_.home);
  std::ofstream(daemon_log_path(endpoint_.home)) << "the disk was full\n";
  const auto told = [&](const char* text) {
    return start_daemon(endpoint_, program(text), {}).error().message;
  };
  EXPECT_EQ(told("echo no such option >&2; exit 3\n"),
            "the daemon ended at once; its log ends:\nno such option");
  EXPECT_EQ(told("exit 3\n"), "the daemon ended at once and wrote nothing to its log " +
                                  daemon_log_path(endpoint_.home));
}

TEST_F(AutostartTest, the_daemon_gets_its_home_its_own_session_and_no_terminal) {
  const std::string script =
      "echo \"$@\"; pwd; [ \"$(ps -o sid= -p $$ | tr -d ' ')\" = $$ ] && echo own session\n";
  ASSERT_FALSE(start_daemon(endpoint_, program(script), {"--slots", "2"}));
  const std::string log = last_lines(daemon_log_path(endpoint_.home), 3);
  EXPECT_EQ(log, "daemon run --home " + endpoint_.home + " --slots 2\n/\nown session");
}

TEST_F(AutostartTest, a_home_that_cannot_be_made_is_named) {
  endpoint_.home = "/dev/null/home";
  auto started = start_daemon(endpoint_, "/bin/true", {});
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("/dev/null/home"), std::string::npos);
}

TEST_F(AutostartTest, last_lines_takes_the_end_of_a_file) {
  std::ofstream(folder_ + "/log") << "one\ntwo\nthree\n";
  EXPECT_EQ(last_lines(folder_ + "/log", 2), "two\nthree");
  EXPECT_EQ(last_lines(folder_ + "/log", 9), "one\ntwo\nthree");
  EXPECT_EQ(last_lines(folder_ + "/nowhere", 2), "");
}

}  // namespace
}  // namespace tutti
