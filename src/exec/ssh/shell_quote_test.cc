#include "exec/ssh/shell_quote.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <string>

namespace tutti {
namespace {

// What a shell makes of a quoted text.
std::string read_by_a_shell(const std::string& quoted) {
  FILE* const shell = popen(("printf %s " + quoted).c_str(), "r");
  std::string text;
  for (int c = fgetc(shell); c != EOF; c = fgetc(shell)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(shell), 0);
  return text;
}

TEST(ShellQuote, text_stands_between_single_quotes) {
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
}

TEST(ShellQuote, an_empty_text_is_still_a_word) {
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(ShellQuote, a_quote_is_written_outside_of_the_quotes) {
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
}

TEST(ShellQuote, a_shell_reads_every_byte_but_zero_as_it_was) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(read_by_a_shell(shell_quoted(all)), all);
}

TEST(ShellQuote, nothing_is_expanded) {
  const std::string text = "$(id) `id` ${HOME} \\ \" ' * ~ ! ;|&<># \n'";
  EXPECT_EQ(read_by_a_shell(shell_quoted(text)), text);
}

TEST(ShellQuote, a_zero_byte_is_a_bug) {
  EXPECT_DEATH((void)shell_quoted(std::string_view("a\0b", 3)), "bug at");
}

}  // namespace
}  // namespace tutti
