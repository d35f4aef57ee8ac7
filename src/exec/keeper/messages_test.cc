#include "exec/keeper/messages.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

const AttemptId kAttempt{{JobId(7), 3}, 2};

AttemptEnded some_end() {
  AttemptEnded ended;
  ended.attempt = kAttempt;
  ended.started_at = TimePoint(1000);
  ended.ended_at = TimePoint(2000);
  ended.outcome = {.ending = Ending::kSignalled,
                   .exit_code = -1,
                   .signal = 9,
                   .cpu_time = seconds(3),
                   .peak_memory = MiB(12),
                   .message = "text with \0 byte"};
  ended.released = false;
  return ended;
}

template <typename Message>
Frame frame_of(FrameBuffer& buffer, const Message& message) {
  std::string bytes;
  append_frame(bytes, message);
  buffer.append(bytes);
  Frame frame;
  EXPECT_EQ(buffer.next(frame), FrameBuffer::Next::kFrame);
  return frame;
}

template <typename Message>
void expect_same_to_keeper(const Message& message) {
  FrameBuffer buffer;
  const Result<ToKeeper> back = decode_to_keeper(frame_of(buffer, message));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<Message>(*back), message);
}

template <typename Message>
void expect_same_from_keeper(const Message& message) {
  FrameBuffer buffer;
  const Result<FromKeeper> back = decode_from_keeper(frame_of(buffer, message));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<Message>(*back), message);
}

TEST(Messages, every_order_comes_back_as_it_was) {
  expect_same_to_keeper(Hello{5});
  expect_same_to_keeper(ContextOrder{
      JobId(1), "/w", {"A=b", ""}, MilliCpu(500), MiB(64), seconds(9), milliseconds(1)});
  expect_same_to_keeper(DropContext{JobId(1)});
  expect_same_to_keeper(StopOrder{kAttempt, Ending::kPreempted});
  expect_same_to_keeper(RecallOrder{kAttempt});
  expect_same_to_keeper(Ack{{kAttempt, kAttempt}});
  expect_same_to_keeper(ListOrder{});
  expect_same_to_keeper(Quit{true});
  expect_same_to_keeper(CleanupOrder{kAttempt, {"/bin/sh", "-c", "true"}});
}

TEST(Messages, a_start_order_comes_back_as_it_was) {
  StartOrder order;
  order.attempt = kAttempt;
  order.lane = LaneId(9);
  order.staged = true;
  order.launch = {{"a", std::string("\xff\0", 2)}, {"K=v"}, "o", "e", "#!/bin/sh\n"};
  FrameBuffer buffer;
  const Result<ToKeeper> back = decode_to_keeper(frame_of(buffer, order));
  ASSERT_TRUE(back);
  const auto& same = std::get<StartOrder>(*back);
  EXPECT_EQ(same.attempt, order.attempt);
  EXPECT_EQ(same.lane, order.lane);
  EXPECT_TRUE(same.staged);
  EXPECT_EQ(same.launch.argv, order.launch.argv);
  EXPECT_EQ(same.launch.env, order.launch.env);
  EXPECT_EQ(same.launch.stdout_path, "o");
  EXPECT_EQ(same.launch.stderr_path, "e");
  EXPECT_EQ(same.launch.script_text, "#!/bin/sh\n");
}

TEST(Messages, every_report_comes_back_as_it_was) {
  expect_same_from_keeper(Welcome{1, "abc", 42, {"/x", "/y"}});
  expect_same_from_keeper(AttemptStarted{kAttempt, TimePoint(5), 77});
  expect_same_from_keeper(some_end());
  expect_same_from_keeper(QuitRefused{"busy"});
  Listing listing;
  listing.staged = {{kAttempt, LaneId(1)}};
  listing.running = {{{kAttempt, TimePoint(5), 77}, LaneId(2)}};
  listing.ended = {some_end(), some_end()};
  expect_same_from_keeper(listing);
}

// The bytes are a contract with keepers that already run: a change needs a new version.
TEST(Messages, the_bytes_of_version_1_stay_as_they_are) {
  std::string bytes;
  append_frame(bytes, StopOrder{kAttempt, Ending::kCancelled});
  EXPECT_EQ(bytes, std::string("\x12\0\0\0\x05\7\0\0\0\0\0\0\0\3\0\0\0\2\0\0\0\4", 22));
}

TEST(Messages, a_cleanup_without_words_is_refused) {
  std::string bytes;
  append_frame(bytes, CleanupOrder{kAttempt, {}});
  EXPECT_FALSE(decode_to_keeper({10, std::string_view(bytes).substr(5)}));
}

TEST(Messages, every_shortened_message_is_refused) {
  std::string bytes;
  append_frame(bytes, some_end());
  for (std::size_t size = 5; size < bytes.size(); ++size) {
    const Frame frame{67, std::string_view(bytes).substr(5, size - 5)};
    EXPECT_FALSE(decode_from_keeper(frame)) << size;
  }
}

TEST(Messages, bytes_left_over_are_refused) {
  EXPECT_TRUE(decode_to_keeper({9, std::string_view("\1", 1)}));
  EXPECT_FALSE(decode_to_keeper({9, std::string_view("\1\0", 2)}));
}

TEST(Messages, values_out_of_range_are_refused) {
  EXPECT_FALSE(decode_to_keeper({9, std::string_view("\2", 1)}));
  EXPECT_FALSE(decode_to_keeper({200, {}}));
  std::string bytes;
  append_frame(bytes, StopOrder{kAttempt, static_cast<Ending>(77)});
  EXPECT_FALSE(decode_to_keeper({5, std::string_view(bytes).substr(5)}));
}

TEST(Messages, a_forged_count_reserves_nothing) {
  EXPECT_FALSE(decode_to_keeper({7, std::string_view("\xff\xff\xff\xff", 4)}));
}

TEST(Frames, a_stream_is_cut_whatever_the_pieces_are) {
  std::string bytes;
  for (std::uint32_t i = 0; i < 20; ++i) append_frame(bytes, Hello{i});
  for (std::size_t piece = 1; piece < 12; ++piece) {
    FrameBuffer buffer;
    std::uint32_t expected = 0;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      buffer.append(std::string_view(bytes).substr(at, piece));
      for (Frame frame; buffer.next(frame) == FrameBuffer::Next::kFrame;) {
        EXPECT_EQ(std::get<Hello>(*decode_to_keeper(frame)).version, expected++);
      }
    }
    EXPECT_EQ(expected, 20u);
  }
}

TEST(Frames, a_length_beyond_the_limit_or_zero_breaks_the_stream) {
  Frame frame;
  FrameBuffer large;
  large.append(std::string_view("\1\0\0\4", 4));
  EXPECT_EQ(large.next(frame), FrameBuffer::Next::kBroken);
  FrameBuffer empty;
  empty.append(std::string_view("\0\0\0\0", 4));
  EXPECT_EQ(empty.next(frame), FrameBuffer::Next::kBroken);
}

}  // namespace
}  // namespace tutti
