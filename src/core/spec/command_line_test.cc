#include "core/spec/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

TEST(CommandLine, of_plain_words_needs_no_shell) {
  EXPECT_EQ(command_of_line("/bin/true").argv, Words({"/bin/true"}));
  EXPECT_EQ(command_of_line("  python train.py\t--lr=0.1 -n 3 "),
            (Command{{"python", "train.py", "--lr=0.1", "-n", "3"}, "", ""}));
  EXPECT_EQ(command_of_line("echo a:b,c@d+e%f^g").argv, Words({"echo", "a:b,c@d+e%f^g"}));
}

TEST(CommandLine, with_simple_quotes_needs_no_shell) {
  EXPECT_EQ(command_of_line("python -c 'print(1); $x'").argv,
            Words({"python", "-c", "print(1); $x"}));
  EXPECT_EQ(command_of_line("echo \"a b\" '' x'y z'\"'\"w").argv,
            Words({"echo", "a b", "", "xy z'w"}));
  EXPECT_EQ(command_of_line("'my prog' a").argv, Words({"my prog", "a"}));
}

TEST(CommandLine, with_shell_characters_is_left_to_the_shell) {
  for (const std::string line :
       {"echo $HOME", "echo `date`", "ls *.txt",    "ls a?",           "ls [ab]",
        "echo {a,b}", "ls ~",        "cat <a",      "echo a >b",       "a | b",
        "a & b",      "a; b",        "(a)",         "echo # x",        "! a",
        "echo a\\ b", "a\nb",        "echo \"$x\"", "echo \"a\\\"b\"", "echo \"`x`\"",
        "echo 'open", "echo \"open", "echo 'a\nb'"}) {
    EXPECT_EQ(command_of_line(line), (Command{{}, line, ""})) << line;
  }
}

TEST(CommandLine, whose_first_word_is_the_shells_own_is_left_to_the_shell) {
  for (const std::string line :
       {"cd /tmp",   "export A",    "source x", ". x",       "if",           "for",
        "exit 3",    "ulimit -n 5", "set -e",   "test -f a", "time sleep 1", "exec foo",
        "eval a",    "kill 1",      "FOO=1 a",  "FOO=",      "a=b",          "%1",
        "'cd' /tmp", "\"exit\" 3",  "'' a",     ":",         "type ls",      "wait"}) {
    EXPECT_EQ(command_of_line(line), (Command{{}, line, ""})) << line;
  }
  EXPECT_EQ(command_of_line("env A=b cd").argv, Words({"env", "A=b", "cd"}));
}

TEST(CommandLine, without_any_word_is_shell_text) {
  EXPECT_THAT(command_of_line("").argv, IsEmpty());
  EXPECT_EQ(command_of_line("  ").shell, "  ");
}

TEST(CommandLine, of_a_megabyte_is_read) {
  EXPECT_EQ(command_of_line("echo " + std::string(1 << 20, 'x')).argv[1].size(), 1u << 20);
}

// The words that bash itself makes of each line.
std::vector<Words> words_of_bash(const std::vector<std::string>& lines) {
  const std::string path = ::testing::TempDir() + "/command_line_" + std::to_string(::getpid());
  FILE* const script = std::fopen(path.c_str(), "w");
  for (const std::string& line : lines) {
    std::fprintf(script, "printf '%%s\\0' %s; printf '\\1\\0'\n", line.c_str());
  }
  std::fclose(script);
  FILE* const bash = ::popen(("bash " + shell_quote(path)).c_str(), "r");
  std::vector<Words> all(1);
  std::string word;
  for (int c = std::fgetc(bash); c != EOF; c = std::fgetc(bash)) {
    if (c != 0) {
      word += static_cast<char>(c);
    } else if (word == "\1") {
      all.emplace_back();
      word.clear();
    } else {
      all.back().push_back(std::exchange(word, ""));
    }
  }
  all.pop_back();
  ::pclose(bash);
  std::remove(path.c_str());
  return all;
}

std::string random_text(std::mt19937& random, std::string_view alphabet, std::size_t most) {
  std::string text(random() % (most + 1), ' ');
  for (char& c : text) c = alphabet[random() % alphabet.size()];
  return text;
}

TEST(CommandLine, that_needs_no_shell_has_the_words_that_bash_sees) {
  std::mt19937 random(20260102);
  std::vector<std::string> lines;
  std::vector<Words> expected;
  while (lines.size() < 2000) {
    const std::string line =
        random_text(random, "abZ09 \t''\"\"\"$\\*=%#-~!^@,.:+{}[/\xC3\xA9", 14);
    const Command command = command_of_line(line);
    if (command.argv.empty()) continue;
    lines.push_back(line);
    expected.push_back(command.argv);
  }
  const std::vector<Words> seen = words_of_bash(lines);
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(seen[i], expected[i]) << lines[i];
}

TEST(ShellQuote, makes_one_word_that_bash_reads_back) {
  std::mt19937 random(7);
  std::vector<std::string> lines;
  std::vector<Words> expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string text =
        random_text(random, "ab '\"$\\*=%#-~!^@,.:+{}[]()<>|&;`\n\t?/\xC3\xA9\xFF", 12);
    lines.push_back(shell_quote(text));
    expected.push_back({text});
  }
  EXPECT_EQ(words_of_bash(lines), expected);
}

TEST(ShellQuote, leaves_words_bare_that_mean_themselves) {
  EXPECT_EQ(shell_quote("train.py"), "train.py");
  EXPECT_EQ(shell_quote("--lr"), "--lr");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("A=b"), "'A=b'") << "would be an assignment as the first word";
  EXPECT_EQ(shell_quote("if"), "'if'") << "would be a keyword as the first word";
  EXPECT_EQ(single_quoted("a"), "'a'");
}

TEST(ShellJoin, gives_a_line_of_the_same_words) {
  const Words words = {"python", "a b", "", "it's", "$HOME", "--x=1"};
  EXPECT_EQ(shell_join(words), "python 'a b' '' 'it'\\''s' '$HOME' '--x=1'");
  EXPECT_EQ(*split_words(shell_join(words)), words);
}

TEST(SplitWords, removes_quotes_and_backslashes) {
  EXPECT_THAT(*split_words(" --name 'a b' \"c \\\" \\n\" d\\ e f''g "),
              ElementsAre("--name", "a b", "c \" \\n", "d e", "fg"));
  EXPECT_THAT(*split_words(""), IsEmpty());
  EXPECT_THAT(*split_words("a#b # comment 'open"), ElementsAre("a#b"));
}

TEST(SplitWords, refuses_open_quotes) {
  for (const char* text : {"'a", "\"a", "a\\", "a 'b\"", "\"a\\\""}) {
    const auto words = split_words(text);
    ASSERT_FALSE(words) << text;
    EXPECT_THAT(words.error().message, HasSubstr("close it"));
  }
}

TEST(CommandText, is_what_a_user_would_type) {
  EXPECT_EQ(command_text({{"echo", "a b"}, "", ""}), "echo 'a b'");
  EXPECT_EQ(command_text({{}, "echo $HOME | wc", ""}), "echo $HOME | wc");
  EXPECT_EQ(command_text({{"run.sh", "x"}, "", "#!/bin/sh\n"}), "run.sh x");
}

}  // namespace
}  // namespace tutti
