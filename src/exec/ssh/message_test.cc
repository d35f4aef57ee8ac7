#include "exec/ssh/message.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(AgentLine, ends_are_read_with_their_flags) {
  const auto message = parse_agent_line("E 12.3.4 3 1500 20 oet");
  ASSERT_TRUE(message);
  const auto& ended = std::get<AgentEnded>(*message);
  EXPECT_EQ(ended.attempt, (AttemptId{{JobId(12), 3}, 4}));
  EXPECT_EQ(ended.end.status, 3);
  EXPECT_EQ(ended.end.ran, milliseconds(1500));
  EXPECT_EQ(ended.end.cpu_time, milliseconds(20));
  EXPECT_TRUE(ended.end.has_output && ended.end.has_errors && ended.end.over_time);
  EXPECT_FALSE(ended.end.stopped);
}

TEST(AgentLine, a_root_may_have_blanks) {
  const auto message =
      parse_agent_line("H 1 1000 boot-id 1 1 0 1 192.0.2.1 192.0.2.7 /home/a b/.cache/tutti/x");
  ASSERT_TRUE(message);
  EXPECT_EQ(std::get<AgentHello>(*message).root, "/home/a b/.cache/tutti/x");
  EXPECT_EQ(std::get<AgentHello>(*message).client, "192.0.2.1");
  EXPECT_EQ(std::get<AgentHello>(*message).address, "192.0.2.7");
  EXPECT_FALSE(std::get<AgentHello>(*message).has_rsync);
  EXPECT_TRUE(std::get<AgentHello>(*message).knows_holes);
}

TEST(AgentLine, a_host_that_cannot_be_used_says_why) {
  const auto message = parse_agent_line("X - cannot use /x: Read-only file system");
  ASSERT_TRUE(message);
  EXPECT_EQ(std::get<AgentUnusable>(*message).reason, "cannot use /x: Read-only file system");
}

TEST(AgentLine, anything_else_is_refused) {
  for (const char* line : {"",
                           " ",
                           "E",
                           "E 1.0.1",
                           "E 1.0.1 0 0 0",
                           "E 1.0.1 0 0 0 q",
                           "E 1.0.1 -1 0 0 -",
                           "E 1.0.1 256 0 0 -",
                           "E 1.0 0 0 0 -",
                           "E 1.0.1 0 0 0 - more",
                           "E 1..1 0 0 0 -",
                           "B 1.0.1",
                           "B 1.0.1 x",
                           "B 1.0.1 1 2",
                           "H 2 0 b 1 1 1 0 - - /r",
                           "H 1 0 b 1 1 1 0 - /r",
                           "H 1 0 b 1 1 1 0 - - r",
                           "A 1.0.1 sleeping",
                           "Z 1",
                           "P 1 2 3",
                           "P 1 2 3 4 5",
                           "Q 1",
                           "EE 1.0.1 0 0 0 -",
                           "G maybe"}) {
    EXPECT_FALSE(parse_agent_line(line)) << line;
  }
}

}  // namespace
}  // namespace tutti
