#include "store/event_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "store/random_records.h"

namespace tutti {
namespace {

TEST(EventCodec, every_kind_of_event_comes_back_as_it_was) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRecords random(seed);
    const Event event{random.time(), random.body(seed % std::variant_size_v<EventBody>)};
    std::string buffer;
    const auto decoded = decode(encode(event, buffer));
    ASSERT_TRUE(decoded) << decoded.error().message;
    ASSERT_EQ(*decoded, event);
  }
}

TEST(EventCodec, what_is_free_of_a_node_is_not_part_of_the_fact) {
  Node node;
  node.cpus = MilliCpu(4000);
  node.free_cpus = MilliCpu(1000);
  std::string buffer;
  const auto decoded = decode(encode({TimePoint(1), NodeChanged{node}}, buffer));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<NodeChanged>(decoded->body).node.free_cpus, MilliCpu(4000));
}

TEST(EventCodec, a_shortened_or_lengthened_event_is_corrupt) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::string buffer;
    const EncodedEvent whole = encode(RandomRecords(seed).event(), buffer);
    for (std::size_t size = 0; size < whole.body.size(); ++size) {
      const auto decoded = decode({whole.at, whole.kind, whole.body.substr(0, size)});
      ASSERT_FALSE(decoded) << size;
      ASSERT_EQ(decoded.error().code, ErrorCode::kCorrupt);
    }
    ASSERT_FALSE(decode({whole.at, whole.kind, std::string(whole.body) + '\0'}));
  }
}

TEST(EventCodec, changed_bytes_are_refused_or_are_another_event_in_its_one_encoding) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRecords random(seed);
    std::string bytes;
    const EncodedEvent encoded = encode(random.event(), bytes);
    bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    const auto decoded = decode({encoded.at, encoded.kind, bytes});
    // An older version is read, but written as the newest.
    if (!decoded || static_cast<std::uint8_t>(bytes[0]) != kEventVersion) continue;
    std::string again;
    ASSERT_EQ(encode(*decoded, again).body, bytes);
  }
}

TEST(EventCodec, events_of_the_first_version_are_still_read) {
  const std::string_view placed("\x01\x11\xac\x02\x02\x09\x01\x01\xa0\x1f\x80\x08\x02\x00\x03", 15);
  const auto decoded = decode({5, 3, placed});
  ASSERT_TRUE(decoded) << decoded.error().message;
  const auto& body = std::get<AttemptPlaced>(decoded->body);
  EXPECT_EQ(body.attempt, (AttemptId{{JobId(17), 300}, 2}));
  ASSERT_EQ(body.allocation.devices.size(), 2u);
  EXPECT_EQ(body.allocation.devices[1], (DeviceGrant{DeviceId(3), {}, {}}));
  EXPECT_FALSE(body.allocation.measuring);
}

TEST(EventCodec, jobs_of_the_third_version_have_neither_ports_nor_ranks_nor_limits_for_nodes) {
  constexpr std::size_t kPortsOfRequest = 22;
  std::string buffer;
  EncodedEvent encoded = encode({TimePoint(1), JobSubmitted{}}, buffer);
  buffer[0] = 3;
  buffer.resize(buffer.size() - 5);  // two empty lists and a model
  buffer.erase(kPortsOfRequest, 2);  // and the list of configurations behind them
  encoded.body = buffer;
  const auto decoded = decode(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->body, EventBody(JobSubmitted{}));
}

TEST(EventCodec, jobs_of_the_fourth_version_have_neither_configurations_nor_a_model) {
  constexpr std::size_t kConfigurationsOfRequest = 23;
  std::string buffer;
  EncodedEvent encoded = encode({TimePoint(1), JobSubmitted{}}, buffer);
  buffer[0] = 4;
  buffer.resize(buffer.size() - 3);
  buffer.erase(kConfigurationsOfRequest, 1);
  encoded.body = buffer;
  const auto decoded = decode(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->body, EventBody(JobSubmitted{}));
}

TEST(EventCodec, speeds_of_the_fifth_version_are_those_of_the_best_plan) {
  const SpeedsChanged changed{{{{{"bert", 1, 1}, {"a100", 1, 1}}, std::nullopt}}};
  std::string buffer;
  EncodedEvent encoded = encode({TimePoint(1), changed}, buffer);
  buffer[0] = 5;
  buffer.erase(buffer.size() - 2, 1);  // the stages, before the flag
  encoded.body = buffer;
  const auto decoded = decode(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->body, EventBody(changed));
}

TEST(EventCodec, seconds_that_are_no_number_are_corrupt) {
  const SpeedCell cell{{"bert", 1, 1}, {"a100", 1, 1}};
  for (const double seconds : {-1.0, -0.0, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    std::string buffer;
    EXPECT_FALSE(decode(encode({TimePoint(1), SpeedsChanged{{{cell, Speed{seconds}}}}}, buffer)));
  }
}

TEST(EventCodec, an_event_of_a_newer_version_asks_for_an_upgrade) {
  std::string buffer;
  EncodedEvent encoded = encode({TimePoint(1), StopOrdered{}}, buffer);
  buffer[0] = kEventVersion + 1;
  encoded.body = buffer;
  const auto decoded = decode(encoded);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kUnsupported);
}

TEST(EventCodec, an_unknown_kind_is_corrupt) {
  for (const std::int64_t kind : {std::int64_t{-1}, std::int64_t{12}, std::int64_t{1} << 40}) {
    const auto decoded = decode({0, kind, "\x01"});
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace tutti
