#include "wire/text_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "wire/base64.h"

namespace tutti {
namespace {

namespace json = boost::json;
using namespace std::string_literals;

std::string text_error_of(std::string_view text) {
  const auto parsed = parse_json(text);
  return parsed ? "parsed" : parsed.error().message;
}

TEST(ParseJson, a_document_with_all_types_is_read) {
  const auto value = parse_json(R"({"a":[1,-2,2.5,true,null,"x"],"b":{}} )");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(json_text(*value), R"({"a":[1,-2,2.5,true,null,"x"],"b":{}})");
}

TEST(ParseJson, a_key_that_stands_twice_is_an_error_that_names_it) {
  EXPECT_NE(text_error_of(R"({"a":1,"mem":2,"mem":3})").find("'mem' stands twice"),
            std::string::npos);
  EXPECT_NE(text_error_of(R"([{"x":{"k":1,"k":1}}])").find("'k' stands twice"), std::string::npos);
  EXPECT_NE(text_error_of(R"({"a":1,"\u0061":2})").find("'a' stands twice"), std::string::npos);
}

TEST(ParseJson, equal_keys_in_different_objects_are_fine) {
  EXPECT_EQ(text_error_of(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})"), "parsed");
}

TEST(ParseJson, errors_say_where) {
  EXPECT_EQ(text_error_of("{\"a\": tru}"), "JSON: syntax error at byte 6");
  EXPECT_EQ(text_error_of("[1, 2"), "JSON: it ends too early at byte 5");
  EXPECT_EQ(text_error_of("[1] x"), "JSON: extra data at byte 4");
  EXPECT_EQ(text_error_of(""), "JSON: it ends too early at byte 0");
}

TEST(ParseJson, depth_is_bounded) {
  EXPECT_EQ(text_error_of(std::string(32, '[') + std::string(32, ']')), "parsed");
  EXPECT_NE(text_error_of(std::string(33, '[') + std::string(33, ']')).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(text_error_of(std::string(1000000, '[')).find("nested too deeply"), std::string::npos);
}

TEST(ParseJson, size_is_bounded) {
  JsonLimits limits;
  limits.size = 4;
  const auto value = parse_json("[1,2]", limits);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kExhausted);
}

TEST(ParseJson, numbers_are_read_to_their_last_digit) {
  std::uint64_t bits = 1;
  for (int i = 0; i < 1000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const double number = static_cast<double>(bits >> 11) * 0x1.0p-53 * std::pow(10, i % 20 - 10);
    const std::string text = json_text(json::value(number));
    const auto alone = parse_json(text);
    const auto inside = parse_json("[" + text + ",1]");
    ASSERT_TRUE(alone && inside) << text;
    EXPECT_EQ(alone->to_number<double>(), number) << text;
    EXPECT_EQ(inside->at(0).to_number<double>(), number) << text;
  }
  EXPECT_EQ(parse_json("[-1.5E+3]")->at(0).as_double(), -1500);
  EXPECT_EQ(parse_json("[1e-400]")->at(0).as_double(), 0);
}

TEST(ParseJson, numbers_that_a_double_cannot_hold_are_refused) {
  EXPECT_NE(text_error_of("1e999"), "parsed");
  EXPECT_NE(text_error_of("-1e999"), "parsed");
  EXPECT_NE(text_error_of(std::string(400, '9')), "parsed");
  EXPECT_EQ(text_error_of("18446744073709551616"), "parsed");  // as a double
}

TEST(ParseJson, what_is_not_strict_json_is_refused) {
  for (const auto& text : {"{'a':1}"s, "[1,]"s, "// x\n1"s, "NaN"s, "\"\xff\""s, "\"\xc0\x80\""s,
                           "\"\\ud800\""s, "\"a\0b\""s, "01"s, "+1"s, "\"a\nb\""s}) {
    EXPECT_NE(text_error_of(text), "parsed") << text;
  }
}

TEST(JsonText, says_what_it_was_given) {
  for (const char* text :
       {"null", "[]", "{}", "[true,false,null]", R"({"a":{"b":[1,-2,18446744073709551615]}})",
        R"("q\"b\\s\n\t\u0001\u001f/")", "[1.5,-0.001,1e+300]", "\"\u00e4\""}) {
    const auto value = parse_json(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(*parse_json(json_text(*value)), *value) << text;
  }
  EXPECT_EQ(json_text(*parse_json(R"({"a":[1.50,"x\ny"]})")), R"({"a":[1.5,"x\ny"]})");
}

TEST(Utf8, well_formed_text_is_told_from_other_bytes) {
  for (const auto& text : {""s, "abc"s, "ä"s, "€"s, "\xF0\x9F\x8E\xB5"s, "\xF4\x8F\xBF\xBF"s}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const auto& text :
       {"\xff"s, "\xc3"s, "\xc0\x80"s, "\xe0\x80\x80"s, "\xed\xa0\x80"s, "\xf4\x90\x80\x80"s,
        "\xf5\x80\x80\x80"s, "a\x80"s, "\xe2\x82"s, "\xe2\x82z"s, "\xf0\x9f\x8e"s}) {
    EXPECT_FALSE(is_utf8(text)) << json_text(text_to_json(text));
  }
}

TEST(Utf8, a_cut_character_is_left_for_the_next_piece) {
  EXPECT_EQ(whole_characters("abc"), 3u);
  EXPECT_EQ(whole_characters("ab\xc3"), 2u);
  EXPECT_EQ(whole_characters("ab\xc3\xa4"), 4u);
  EXPECT_EQ(whole_characters("a\xf0\x9f\x8e"), 1u);
  EXPECT_EQ(whole_characters("a\xf0\x9f\x8e\xb5"), 5u);
  EXPECT_EQ(whole_characters("a\x80\x80\x80\x80"), 5u);
  EXPECT_EQ(whole_characters(""), 0u);
}

TEST(Text, any_bytes_survive_the_way_there_and_back) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const auto& text : {""s, "plain"s, "line\nline"s, "nul\0nul"s, "\xff\xfe"s, all}) {
    const auto parsed = parse_json(json_text(text_to_json(text)));
    ASSERT_TRUE(parsed);
    const auto back = text_from_json(*parsed, "x");
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, text);
  }
}

TEST(Text, other_values_are_errors_that_name_the_field) {
  for (const char* text : {"1", "null", "[]", "{}", R"({"base64":1})", R"({"base64":"a"})",
                           R"({"base64":"YQ==","x":1})"}) {
    const auto result = text_from_json(*parse_json(text), "workdir");
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().message.rfind("workdir", 0), 0u);
  }
}

TEST(Base64, known_answers) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(*base64_decode("Zm8="), "fo");
}

TEST(Base64, sloppy_text_is_refused) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 8"}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

TEST(Time, iso_8601_with_microseconds_there_and_back) {
  const TimePoint time(1767323045000006);
  EXPECT_EQ(iso_time(time), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(*parse_iso_time("2026-01-02T03:04:05.000006Z"), time);
  EXPECT_EQ(iso_time(TimePoint(-1)), "1969-12-31T23:59:59.999999Z");
}

TEST(Time, impossible_and_differently_written_times_are_refused) {
  for (const char* text : {"", "2026-02-31T00:00:00.000000Z", "2026-01-02T03:04:05Z",
                           "2026-01-02 03:04:05.000006Z", "2026-01-02T25:04:05.000006Z"}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

TEST(Time, none_is_null) {
  EXPECT_TRUE(time_to_json(TimePoint()).is_null());
  EXPECT_EQ(json_text(seconds_to_json(seconds(90))), "90");
  EXPECT_EQ(json_text(seconds_to_json(milliseconds(1500))), "1.5");
}

TEST(ErrorObject, there_and_back) {
  const Error error = conflict("job 3 is running");
  EXPECT_EQ(json_text(error_to_json(error)),
            R"({"error":{"code":"conflict","message":"job 3 is running"}})");
  const Error back = error_from_json(error_to_json(error));
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, error.message);
}

TEST(ErrorObject, something_else_is_an_error_too) {
  for (const char* text : {"1", "{}", R"({"error":1})", R"({"error":{"code":1,"message":""}})"}) {
    EXPECT_EQ(error_from_json(*parse_json(text)).code, ErrorCode::kUnsupported) << text;
  }
}

}  // namespace
}  // namespace tutti
