#include "base/spawn.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tutti {
namespace {

int status_of(const std::string& script, bool own_session) {
  const auto pid = spawn({"sh", "-c", script}, -1, -1, -1, own_session);
  if (!pid) return -1;
  int status = 0;
  return ::waitpid(*pid, &status, 0) == *pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(spawn, a_program_that_does_not_exist_is_not_found) {
  const auto pid = spawn({"no-such-program"}, -1, -1, -1, false);
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().code, ErrorCode::kNotFound);
}

TEST(spawn, words_are_passed_as_they_are_and_input_is_empty) {
  EXPECT_EQ(status_of("exit 7", false), 7);
  EXPECT_EQ(status_of("read line", false), 1);
}

TEST(spawn, a_session_of_its_own_is_apart_from_this_one) {
  const std::string session = "set -- $(cat /proc/$$/stat); test $6 = $$";
  EXPECT_EQ(status_of(session, true), 0);
  EXPECT_EQ(status_of(session, false), 1);
}

}  // namespace
}  // namespace tutti
