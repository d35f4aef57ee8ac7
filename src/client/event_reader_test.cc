#include "client/event_reader.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(EventReader, an_event_is_complete_at_the_empty_line) {
  EventReader reader;
  EXPECT_TRUE(reader.feed("event: job\ndata: {\"id\":1}\n").empty());
  const auto events = reader.feed("\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "job");
  EXPECT_EQ(events[0].data, "{\"id\":1}");
}

TEST(EventReader, cuts_anywhere_do_not_matter) {
  const std::string text =
      "event: log\r\ndata: one\r\ndata: two\r\n\r\n: comment\n\nevent: end\ndata: x\n\n";
  EventReader reader;
  std::vector<ServerEvent> events;
  for (const char c : text) {
    for (auto& event : reader.feed(std::string_view(&c, 1))) events.push_back(event);
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].data, "one\ntwo");
  EXPECT_EQ(events[1].name, "end");
}

TEST(EventReader, an_event_without_a_name_is_a_message) {
  EventReader reader;
  const auto events = reader.feed("data:x\n\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "message");
  EXPECT_EQ(events[0].data, "x");
}

}  // namespace
}  // namespace tutti
