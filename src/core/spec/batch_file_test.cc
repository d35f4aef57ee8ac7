#include "core/spec/batch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BatchFile, has_one_command_per_line_with_its_number) {
  const auto batch = parse_batch_file("echo a\n\n# note\n  \t\n   # note\necho b # c\n  echo d ");
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->lines, ElementsAre("echo a", "echo b # c", "echo d "));
  EXPECT_THAT(batch->line_numbers, ElementsAre(1, 6, 7));
}

TEST(BatchFile, may_come_from_windows) {
  const auto batch = parse_batch_file(
      "\xEF\xBB\xBF"
      "echo a\r\n\r\necho \\\r\n b\r\n");
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->lines, ElementsAre("echo a", "echo  b"));
  EXPECT_THAT(batch->line_numbers, ElementsAre(1, 3));
}

TEST(BatchFile, joins_lines_after_a_backslash) {
  const auto batch = parse_batch_file("a \\\n  b \\\n# c\nd \\\\\ne \\\\\\\nf\n");
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->lines, ElementsAre("a   b # c", "d \\\\", "e \\\\f"));
  EXPECT_THAT(batch->line_numbers, ElementsAre(1, 4, 5));
}

TEST(BatchFile, does_not_continue_comments) {
  EXPECT_THAT(parse_batch_file("# a \\\necho b\n")->lines, ElementsAre("echo b"));
}

TEST(BatchFile, drops_a_continued_blank_command) {
  EXPECT_THAT(parse_batch_file("\\\n\necho b\n")->lines, ElementsAre("echo b"));
}

TEST(BatchFile, ending_in_a_backslash_is_cut_off) {
  EXPECT_THAT(parse_batch_file("a\nb \\\nc\\").error().message,
              HasSubstr("line 2: ends in a backslash"));
  EXPECT_FALSE(parse_batch_file("b \\\n"));
}

TEST(BatchFile, with_a_nul_byte_names_the_line) {
  using std::string_literals::operator""s;
  EXPECT_THAT(parse_batch_file("a\n\nb\0c\n"s).error().message,
              HasSubstr("line 3: has a NUL byte"));
  EXPECT_THAT(parse_batch_file("a\\\n\0c\n"s).error().message, HasSubstr("line 2: has a NUL byte"));
  EXPECT_THAT(parse_each_line("a\n\0"s, "x").error().message, HasSubstr("line 2: has a NUL byte"));
}

TEST(BatchFile, may_be_empty) {
  EXPECT_THAT(parse_batch_file("")->lines, IsEmpty());
  EXPECT_THAT(parse_batch_file("\n#\n")->lines, IsEmpty());
}

TEST(BatchFile, takes_a_line_of_a_megabyte) {
  const std::string line = "echo " + std::string(1 << 20, 'x');
  EXPECT_THAT(parse_batch_file(line)->lines, ElementsAre(line));
}

TEST(EachLine, is_an_argument_taken_as_it_is) {
  const auto batch = parse_each_line("a.txt\n\n# b $x\r\nit's\\\n c", "gzip -9 {} --tag x{}");
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->lines,
              ElementsAre("gzip -9 a.txt --tag x'a.txt'", "gzip -9 '# b $x' --tag x'# b $x'",
                          "gzip -9 'it'\\''s\\' --tag x'it'\\''s\\'", "gzip -9 ' c' --tag x' c'"));
  EXPECT_THAT(batch->line_numbers, ElementsAre(1, 3, 4, 5));
}

TEST(Template, without_a_place_takes_the_value_at_its_end) {
  EXPECT_EQ(*expand_template("gzip -9", "a b"), "gzip -9 'a b'");
}

TEST(Template, keeps_an_escaped_place) {
  EXPECT_EQ(*expand_template("find . -exec a \\{} {}", "x"), "find . -exec a \\{} x");
}

TEST(Template, beside_other_text_always_quotes) {
  EXPECT_EQ(*expand_template("echo $v{}", "ar"), "echo $v'ar'");
  EXPECT_EQ(*expand_template("echo {}{}", "a"), "echo 'a''a'");
}

TEST(Template, refuses_places_where_quoting_would_not_hold) {
  for (const char* text :
       {"echo '{}'", "echo \"{}\"", "echo \"$(ls {})\"", "echo `ls {}`", "echo # {}", "echo $'{}'",
        "echo $'a\\'{}'", "echo ${}", "echo \"`ls {}`\"", "echo 'open", "echo # x", "", "  ",
        "a\nb {}", "echo \\$'a\\'' {}'"}) {
    EXPECT_FALSE(expand_template(text, "x")) << text;
  }
  EXPECT_TRUE(expand_template("echo 'a' \"b\" `c` $(ls {}) a#b \\' \\$", "x"));
}

}  // namespace
}  // namespace tutti
