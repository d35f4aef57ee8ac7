#include "cli/health.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/home.h"

namespace tutti {
namespace {

using Level = Finding::Level;
constexpr TimePoint kNow{1'800'000'000'000'000};

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    std::string folder = "/tmp/tutti-health-test-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    home_ = folder;
  }
  ~HealthTest() override { std::filesystem::remove_all(home_); }

  std::string home_;
};

TEST_F(HealthTest, a_writable_home_is_fine_and_left_as_it_was) {
  EXPECT_EQ(check_home(home_)[0].level, Level::kOk);
  EXPECT_TRUE(std::filesystem::is_empty(home_));
}

TEST_F(HealthTest, a_home_that_cannot_be_written_fails_with_what_to_do) {
  const auto findings = check_home("/proc/tutti");
  EXPECT_EQ(findings[0].level, Level::kFail);
  EXPECT_NE(findings[0].detail.find("TUTTI_HOME"), std::string::npos);
}

TEST_F(HealthTest, a_home_that_cannot_be_made_fails_and_one_that_can_is_not_made) {
  std::filesystem::create_symlink("nowhere", home_ + "/link");
  EXPECT_NE(check_home(home_ + "/link")[0].detail.find("link to what does not exist"),
            std::string::npos);
  EXPECT_EQ(check_home(home_ + "/" + std::string(300, 'x'))[0].level, Level::kFail);
  EXPECT_EQ(check_home(home_ + "/new/below")[0].level, Level::kOk);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/new"));
}

TEST_F(HealthTest, a_missing_socket_is_fine_and_a_file_in_its_place_is_not) {
  EXPECT_EQ(check_socket(home_)[0].level, Level::kOk);
  std::filesystem::create_directory(home_ + "/run");
  std::ofstream(home_ + "/run/tutti.sock") << "x";
  EXPECT_EQ(check_socket(home_)[0].level, Level::kFail);
}

TEST_F(HealthTest, a_keeper_that_nobody_can_reach_is_named) {
  EXPECT_TRUE(check_keeper(home_).empty());
  std::filesystem::create_directory(home_ + "/run");
  std::ofstream held(home_ + "/run/keeper.lock");
  held << ::getpid() << std::endl;
  const auto findings = check_keeper(home_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].detail.find(fmt::format("kill {}", ::getpid())), std::string::npos);
  std::ofstream(home_ + "/run/keeper.sock") << "x";
  EXPECT_TRUE(check_keeper(home_).empty());
}

TEST_F(HealthTest, a_missing_daemon_is_a_warning_unless_its_log_says_why) {
  EXPECT_EQ(check_no_daemon(home_, {})[0].level, Level::kWarn);
  std::ofstream(daemon_log_path(home_)) << "tutti daemon: cannot listen: the port is taken\n";
  const auto findings = check_no_daemon(home_, {});
  EXPECT_EQ(findings[0].level, Level::kFail);
  EXPECT_NE(findings[0].detail.find("port is taken"), std::string::npos);
}

TEST_F(HealthTest, a_database_is_judged_by_itself_not_by_what_the_log_said_of_it) {
  std::ofstream(daemon_log_path(home_)) << "tutti daemon: database " + home_ + "/x is damaged\n";
  EXPECT_EQ(check_no_daemon(home_, {})[0].level, Level::kWarn);
  const auto findings = check_no_daemon(home_, Error{ErrorCode::kCorrupt, "it is damaged"});
  EXPECT_EQ(findings[1].level, Level::kFail);
  EXPECT_EQ(findings[1].detail, "it is damaged");
}

TEST_F(HealthTest, a_daemon_that_does_not_answer_fails) {
  const Error silent{ErrorCode::kTimeout, "pid 7 does not answer"};
  EXPECT_EQ(check_daemon(silent, kNow)[0].level, Level::kFail);
  EXPECT_EQ(check_daemon(silent, kNow)[0].detail, "pid 7 does not answer");
}

TEST_F(HealthTest, a_daemon_in_trouble_or_without_real_limits_is_told) {
  StatusView status;
  status.version = TUTTI_VERSION;
  status.started_at = kNow - seconds(60);
  status.enforcement = "process group";
  status.trouble = "the disk is full";
  const auto findings = check_daemon(status, kNow);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[1].level, Level::kFail);
  EXPECT_EQ(findings[1].detail, "the disk is full");
  EXPECT_EQ(findings[2].level, Level::kWarn);
}

TEST_F(HealthTest, a_container_runtime_that_fails_without_a_word_is_told_with_its_status) {
  std::ofstream(home_ + "/podman") << "#!/bin/sh\ntest $1 = --version && echo podman 9 || exit 3\n";
  std::filesystem::permissions(home_ + "/podman", std::filesystem::perms::owner_all);
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (home_ + ":" + path).c_str(), 1);
  const auto findings = check_containers();
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_EQ(findings[0].detail, "podman 9, but it does not work here: 'podman info' ended with 3");
}

TEST_F(HealthTest, gpus_are_counted_by_type_and_source) {
  GpusView view;
  view.source = "nvml";
  view.gpus.resize(2);
  view.gpus[0].type = view.gpus[1].type = "A100-80G";
  view.gpus[0].emulated = view.gpus[1].emulated = true;
  EXPECT_EQ(check_gpus(view).level, Level::kOk);
  EXPECT_EQ(check_gpus(view).detail, "2 × A100-80G (emulated), by nvml");
}

TEST_F(HealthTest, a_machine_without_gpus_is_fine_and_says_what_was_looked_for) {
  GpusView view;
  EXPECT_EQ(check_gpus(view).detail, "none found");
  view.notes = {"no NVML", "no ROCm"};
  EXPECT_EQ(check_gpus(view).level, Level::kOk);
  EXPECT_EQ(check_gpus(view).detail, "none found: no NVML; no ROCm");
}

TEST_F(HealthTest, trouble_with_gpus_fails) {
  GpusView view;
  view.trouble = "NVML does not answer";
  EXPECT_EQ(check_gpus(view).level, Level::kFail);
  EXPECT_EQ(check_gpus(view).detail, "NVML does not answer");
  view.trouble = "";
  view.gpus.resize(1);
  view.gpus[0].type = "T4";
  view.gpus[0].healthy = false;
  view.gpus[0].reason = "fell off the bus";
  EXPECT_EQ(check_gpus(view).level, Level::kFail);
  EXPECT_EQ(check_gpus(view).detail, "1 × T4: GPU 0 gets no work: fell off the bus");
}

TEST_F(HealthTest, a_clock_that_was_set_back_is_noticed) {
  std::ofstream(home_ + "/file") << "x";
  EXPECT_EQ(check_clock(home_, TimePoint(1))[0].level, Level::kFail);
  EXPECT_EQ(check_clock(home_, TimePoint(1'710'000'000'000'000))[0].level, Level::kWarn);
}

}  // namespace
}  // namespace tutti
