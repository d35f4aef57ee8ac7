#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "emulator/emulator.h"

namespace tutti::emulator {

// A test with a file of emulated GPUs of its own, named by the environment. Its children end with
// the test.
class TemporaryGpus : public testing::Test {
 protected:
  void SetUp() override {
    const char* base = std::getenv("TMPDIR");
    folder_ = std::string(base != nullptr ? base : "/tmp") + "/emulator-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/gpus";
    ::setenv("TUTTI_EMULATED_GPUS", path_.c_str(), 1);
  }

  void TearDown() override {
    for (const pid_t child : children_) end(child);
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }

  void create(const char* spec) {
    char error[512];
    ASSERT_EQ(tutti_emulator_create(path_.c_str(), spec, error, sizeof error), 0) << error;
  }

  // A child that has done `act` and now waits for its end.
  pid_t child_that(const std::function<void()>& act) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      act();
      if (::write(ends[1], "1", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    children_.push_back(child);
    return child;
  }

  static void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  std::string folder_;
  std::string path_;
  std::vector<pid_t> children_;
};

inline constexpr unsigned long long kGiB = 1ull << 30;

}  // namespace tutti::emulator
