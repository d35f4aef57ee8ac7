#include "core/spec/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Script, what_editors_of_other_systems_leave_in_its_first_line_is_named) {
  EXPECT_THAT(parse_script("\xef\xbb\xbf#!/bin/sh\n#TUTTI --cpus 2\n").error().message,
              HasSubstr("byte-order mark"));
  EXPECT_THAT(parse_script("#!/bin/sh\r\n#TUTTI --cpus 2\r\n").error().message,
              HasSubstr("carriage return"));
}

TEST(Script, directives_stand_before_the_first_command) {
  const auto header = parse_script(
      "#!/usr/bin/env python3\n"
      "# about\n"
      "#TUTTI --cpus 4 --name 'a b'  # wide\n"
      "\n"
      "#TUTTI\t--time 1h\r\n"
      "#TUTTI\n"
      "print(1)\n"
      "#TUTTI --mem 1G\n");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->shebang, "/usr/bin/env python3");
  EXPECT_THAT(header->directives, ElementsAre(Directive{3, {"--cpus", "4", "--name", "a b"}},
                                              Directive{5, {"--time", "1h"}}));
  EXPECT_THAT(header->late_lines, ElementsAre(8));
}

TEST(Script, only_the_exact_mark_at_the_line_start_is_a_directive) {
  const auto header =
      parse_script(" #TUTTI --a\n# TUTTI --b\n#TUTTIX --c\n#tutti --d\n##TUTTI --e\n");
  ASSERT_TRUE(header);
  EXPECT_THAT(header->directives, IsEmpty());
  EXPECT_EQ(header->shebang, "");
}

TEST(Script, directive_with_an_open_quote_names_the_line) {
  EXPECT_THAT(parse_script("#!/bin/sh\n#TUTTI --name 'a\n").error().message,
              ::testing::AllOf(HasSubstr("line 2: "), HasSubstr("close it")));
}

TEST(Script, directive_that_is_no_flag_is_refused) {
  EXPECT_THAT(parse_script("#TUTTI cpus: 4\n").error().message,
              HasSubstr("line 1: 'cpus:' is not a flag"));
}

TEST(Script, with_a_nul_byte_is_no_script) {
  EXPECT_THAT(parse_script(std::string_view("a\n\0", 3)).error().message, HasSubstr("line 2"));
}

TEST(Script, shebang_needs_a_program) {
  EXPECT_TRUE(has_shebang("#! /bin/sh\n"));
  EXPECT_TRUE(has_shebang("#!/bin/sh"));
  EXPECT_FALSE(has_shebang("#!\n/bin/sh"));
  EXPECT_FALSE(has_shebang("# !/bin/sh"));
  EXPECT_FALSE(has_shebang(""));
  EXPECT_TRUE(parse_script(""));
}

}  // namespace
}  // namespace tutti
