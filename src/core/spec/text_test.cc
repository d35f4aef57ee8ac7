#include "core/spec/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;

TEST(ShownText, stays_on_one_printable_line) {
  EXPECT_EQ(shown("abc"), "'abc'");
  EXPECT_EQ(shown("a\tb\x7f"), "'a\\x09b\\x7f'");
  EXPECT_EQ(shown("caf\xC3\xA9"), "'caf\xC3\xA9'");
  EXPECT_EQ(shown("caf\xC3"), "'caf\\xc3'");
  EXPECT_EQ(shown(std::string(61, 'a')), "'" + std::string(60, 'a') + "...'");
  EXPECT_EQ(first_invalid_utf8(shown(std::string(59, 'a') + "\xC3\xA9\xC3\xA9")), std::nullopt);
}

TEST(Utf8, first_invalid_byte_is_found) {
  EXPECT_EQ(first_invalid_utf8("plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x8E\xB5"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("ab\xFF"), 2u);
  EXPECT_EQ(first_invalid_utf8("\xC0\x80"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("\xE0\x80\x80"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0u) << "surrogate";
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0u) << "beyond Unicode";
  EXPECT_EQ(first_invalid_utf8("a\xE2\x82"), 1u) << "cut off";
}

TEST(Digits, are_all_of_the_text_and_within_the_limit) {
  EXPECT_EQ(parse_digits("12", 12), 12u);
  EXPECT_EQ(parse_digits("13", 12), std::nullopt);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616"}) {
    EXPECT_EQ(parse_digits(text, UINT64_MAX), std::nullopt) << text;
  }
}

TEST(Commas, separate_trimmed_pieces) {
  EXPECT_THAT(split_commas(" a , b,,c\t"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split_commas(""), ElementsAre(""));
}

}  // namespace
}  // namespace tutti
