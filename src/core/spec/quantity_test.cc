#include "core/spec/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Memory, is_read_with_binary_suffixes) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"20G", 20480},  {"20GiB", 20480}, {"20GB", 20480},  {"20g", 20480}, {"512M", 512},
      {"512", 512},    {"1.5G", 1536},   {"0.5T", 524288}, {"2048K", 2},   {"0", 0},
      {" 1 G ", 1024}, {".5G", 512},     {"1T", 1048576},
  };
  for (const auto& [text, mib] : cases) {
    const auto parsed = parse_memory(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->value, mib) << text;
  }
}

TEST(Memory, is_rounded_up_to_whole_mebibytes) {
  EXPECT_EQ(parse_memory("1K")->value, 1);
  EXPECT_EQ(parse_memory("1025K")->value, 2);
  EXPECT_EQ(parse_memory("1.0001")->value, 2);
  EXPECT_EQ(parse_memory("1.00000001M")->value, 2);
}

TEST(Memory, that_cannot_be_read_is_quoted_with_an_example) {
  for (const std::string text : {"", " ", "-1", "-5G", "G", "1Q", "1GG", "1G 2G", "nan", "inf",
                                 "1e9", "0x10", "1.2.3", "1.", ".", "1,5G", "1GiBs", "+1"}) {
    const auto parsed = parse_memory(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, AllOf(HasSubstr("'" + text + "'"), HasSubstr("20G")));
  }
}

TEST(Memory, that_overflows_is_refused) {
  for (const char* text : {"99999999999999999999", "9999999999999999G", "2000000T",
                           "9223372036854775807T", "18446744073709551617"}) {
    EXPECT_FALSE(parse_memory(text)) << text;
  }
}

TEST(Memory, error_shows_no_raw_control_characters_and_not_all_of_a_long_text) {
  const std::string message = parse_memory("1\n2").error().message;
  EXPECT_THAT(message, HasSubstr("1\\x0a2"));
  EXPECT_LT(parse_memory(std::string(100000, 'x')).error().message.size(), 300u);
}

TEST(Cpus, are_cores_fractions_or_thousandths) {
  EXPECT_EQ(parse_cpus("2")->value, 2000);
  EXPECT_EQ(parse_cpus("0.5")->value, 500);
  EXPECT_EQ(parse_cpus("500m")->value, 500);
  EXPECT_EQ(parse_cpus("1.5")->value, 1500);
  EXPECT_EQ(parse_cpus("0.0001")->value, 1);
}

TEST(Cpus, refuse_nothing_negatives_and_junk) {
  for (const char* text : {"", "0", "0m", "-1", "1x", "m", "two", "1e3", "NaN", "10000000",
                           "99999999999999999999999"}) {
    EXPECT_FALSE(parse_cpus(text)) << text;
  }
}

TEST(Duration, is_read_in_every_usual_notation) {
  const std::vector<std::pair<std::string, Duration>> cases = {
      {"90", seconds(90)},
      {"90s", seconds(90)},
      {"1.5", milliseconds(1500)},
      {"1h30m", seconds(5400)},
      {"1.5h", seconds(5400)},
      {"2d", seconds(172800)},
      {"1w", seconds(604800)},
      {"1d2h3m4s", seconds(93784)},
      {"250ms", milliseconds(250)},
      {"1s250ms", milliseconds(1250)},
      {"7us", microseconds(7)},
      {"01:30:00", seconds(5400)},
      {"30:00", seconds(1800)},
      {"90:00", seconds(5400)},
      {"100:00:00", seconds(360000)},
      {"1-02:03:04", seconds(93784)},
      {"1-02:03", seconds(93780)},
      {"1-12", seconds(129600)},
      {"0", seconds(0)},
  };
  for (const auto& [text, expected] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->value, expected.value) << text;
  }
}

TEST(Duration, that_cannot_be_read_is_an_error_with_an_example) {
  for (const char* text :
       {"",       "s",       "1x",       "-5",       "-5s",  "1h-5m", "1m1h",  "1h1h",
        "1h 30m", "1:2:3:4", "01:60:00", "01:00:60", "1-24", "1-",    "-1-02", ":30",
        "1:",     "nan",     "1hm",      "1h30",     "h30m", "1ms1s"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("1h30m")) << text;
  }
}

TEST(Duration, beyond_a_century_is_refused) {
  for (const char* text : {"200000d", "99999999999999d", "9223372036854775807", "36600-23:59:59",
                           "60000000:00:00", "6000w"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Share, is_a_fraction_or_a_percentage) {
  EXPECT_EQ(parse_share("0.5")->value, 500);
  EXPECT_EQ(parse_share("50%")->value, 500);
  EXPECT_EQ(parse_share("1")->value, 1000);
  EXPECT_EQ(parse_share("100%")->value, 1000);
  EXPECT_EQ(parse_share("12.5%")->value, 125);
  for (const char* text : {"", "0", "0%", "1.1", "101%", "-0.5", "half", "50%%"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

TEST(Priority, is_a_whole_number_within_a_million) {
  EXPECT_EQ(*parse_priority("10"), 10);
  EXPECT_EQ(*parse_priority("-10"), -10);
  EXPECT_EQ(*parse_priority("+5"), 5);
  EXPECT_EQ(*parse_priority("-1000000"), -1000000);
  for (const char* text : {"", "-", "+-1", "1.5", "1000001", "-1000001", "high", "1 2"}) {
    EXPECT_FALSE(parse_priority(text)) << text;
  }
}

TEST(Gpus, are_a_number_a_type_or_both) {
  EXPECT_EQ(*parse_gpus("2"), (DeviceRequest{2, "", MiB(), MilliGpu()}));
  EXPECT_EQ(*parse_gpus("A100:2"), (DeviceRequest{2, "A100", MiB(), MilliGpu()}));
  EXPECT_EQ(*parse_gpus("A100-80G"), (DeviceRequest{1, "A100-80G", MiB(), MilliGpu()}));
  for (const char* text :
       {"", ":2", "A100:", "A100:x", "-1", "A 100:1", "99999", "A:1:2", "A:-1"}) {
    EXPECT_FALSE(parse_gpus(text)) << text;
  }
}

TEST(Format, is_short_and_human) {
  EXPECT_EQ(format_memory(MiB(0)), "-");
  EXPECT_EQ(format_memory(MiB(512)), "512M");
  EXPECT_EQ(format_memory(MiB(20480)), "20G");
  EXPECT_EQ(format_memory(MiB(1536)), "1.5G");
  EXPECT_EQ(format_memory(MiB(2 * 1024 * 1024)), "2T");
  EXPECT_EQ(format_cpus(MilliCpu(2000)), "2");
  EXPECT_EQ(format_cpus(MilliCpu(500)), "0.5");
  EXPECT_EQ(format_cpus(MilliCpu(1125)), "1.125");
  const std::vector<std::pair<Duration, std::string>> durations = {
      {seconds(0), "0s"},
      {microseconds(12), "12us"},
      {milliseconds(340), "340ms"},
      {milliseconds(2400), "2.4s"},
      {seconds(9), "9s"},
      {seconds(42), "42s"},
      {seconds(60), "1m"},
      {seconds(5400), "1h30m"},
      {seconds(3600 * 76), "3d4h"},
      {seconds(3601), "1h"},
      {milliseconds(-340), "-340ms"},
  };
  for (const auto& [duration, text] : durations) EXPECT_EQ(format_duration(duration), text);
}

TEST(Format, of_the_smallest_duration_does_not_overflow) {
  EXPECT_EQ(format_duration(Duration(INT64_MIN))[0], '-');
}

TEST(Ports, a_range_has_two_ends_in_order) {
  EXPECT_EQ(*parse_port_range("20000-29999"), (PortRange{20000, 29999}));
  EXPECT_EQ(parse_port_range("8080-8080")->size(), 1u);
  for (const char* bad : {"", "20000", "20000-", "-20000", "30000-20000", "80-90", "1-70000",
                          "20000-2x", "20000-29999-3"})
    EXPECT_FALSE(parse_port_range(bad)) << bad;
}

TEST(Quantity, numbers_that_are_too_large_are_told_so) {
  const std::string digits(40, '9');
  EXPECT_THAT(parse_memory(digits + "G").error().message, HasSubstr("more than any machine"));
  EXPECT_THAT(parse_cpus(digits).error().message, HasSubstr("more than any machine"));
  EXPECT_THAT(parse_cpus(digits + "m").error().message, HasSubstr("more than any machine"));
  EXPECT_THAT(parse_gpus(digits).error().message, HasSubstr("more than any machine"));
  EXPECT_THAT(parse_share(digits).error().message, HasSubstr("at most 1"));
  for (const char* unit : {"", "us", "w", ":00:00", "-00:00:00"})
    EXPECT_THAT(parse_duration(digits + unit).error().message, HasSubstr("100 years")) << unit;
}

TEST(Quantity, an_error_is_about_the_field) {
  const auto told = [](const auto& parsed, const char* field) {
    return of_field(field, parsed.error()).message.substr(0, 12);
  };
  EXPECT_EQ(told(parse_memory("-5G"), "mem"), "mem '-5G': w");
  EXPECT_EQ(told(parse_cpus("0"), "slots"), "slots '0': m");
  EXPECT_EQ(told(parse_cpus("0"), "cpus"), "cpus '0': mu");
  EXPECT_EQ(told(parse_share("x"), "gpu_util"), "gpu_util 'x'");
  EXPECT_EQ(of_field("mem", invalid_input("it 'is' so")).message, "mem: it 'is' so");
}

}  // namespace
}  // namespace tutti
