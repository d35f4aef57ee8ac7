#include "core/spec/gitignore.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti {
namespace {

struct IgnoreCase {
  const char* rules;
  const char* path;  // a folder when it ends in a slash
  bool ignored;
};

TEST(IgnoreRules, mean_what_they_mean_to_git) {
  const std::vector<IgnoreCase> cases = {
      // names match at any depth
      {"*.o", "a.o", true},
      {"*.o", "a/b.o", true},
      {"*.o", "a.c", false},
      {"*.o", ".o", true},
      {"foo", "foo/", true},
      {"foo", "a/foo", true},
      {"foo", "foo/a/b", true},
      {"foo", "foobar", false},
      // a slash anchors
      {"/foo", "foo", true},
      {"/foo", "a/foo", false},
      {"a/b", "a/b", true},
      {"a/b", "x/a/b", false},
      {"a/*.c", "a/x.c", true},
      {"a/*.c", "a/b/x.c", false},
      // a slash at the end means folders
      {"build/", "build/", true},
      {"build/", "build", false},
      {"build/", "a/build/x", true},
      {"a/b/", "a/b/c", true},
      {"/build/", "x/build/", false},
      // two stars
      {"**/foo", "foo", true},
      {"**/foo", "a/b/foo", true},
      {"**/foo", "a/xfoo", false},
      {"**/a/b", "x/a/b", true},
      {"foo/**", "foo/", false},
      {"foo/**", "foo/a/b", true},
      {"foo/**", "x/foo/a", false},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "a/xb", false},
      {"a/**b", "a/x/b", false},
      {"a/**b", "a/xb", true},
      {"a**b", "axxb", true},
      {"**", "x/y", true},
      {"/**", "x", true},
      {"***/foo", "a/b/foo", true},
      {"**/", "a/", true},
      {"**/", "a", false},
      // negation: the last rule wins, but not inside an ignored folder
      {"*.o\n!keep.o", "keep.o", false},
      {"!keep.o\n*.o", "keep.o", true},
      {"build/\n!build/keep", "build/keep", true},
      {"build/*\n!build/keep", "build/keep", false},
      {"/*\n!/src", "src/a", false},
      {"/*\n!/src", "doc/a", true},
      // ? and classes stay within a name
      {"a?c", "abc", true},
      {"x/a?c", "x/a/c", false},
      {"a[bc]d", "acd", true},
      {"a[!bc]d", "acd", false},
      {"a[^bc]d", "axd", true},
      {"x/a[!b]c", "x/a/c", false},
      {"a[a-cx]", "ab", true},
      {"a[a-cx]", "ad", false},
      {"a[]]", "a]", true},
      {"a[]-]", "a-", true},
      {"a[[:digit:]]", "a5", true},
      {"a[[:digit:]]", "ax", false},
      {"a[\\]]", "a]", true},
      {"a[b", "a[b", false},
      // escapes, comments and blanks
      {"# note", "# note", false},
      {"\\#x", "#x", true},
      {"\\!x", "!x", true},
      {"\\*", "*", true},
      {"\\*", "x", false},
      {"a\\", "a\\", false},
      {"foo  ", "foo", true},
      {"foo\\ ", "foo ", true},
      {"foo\\ ", "foo", false},
      {"foo\r\nbar", "foo", true},
      {" foo", "foo", false},
      {"", "foo", false},
      {"/", "foo", false},
      {"\xEF\xBB\xBF"
       "foo",
       "foo", true},
      {"caf\xC3\xA9", "x/caf\xC3\xA9", true},
  };
  for (const IgnoreCase& c : cases) {
    IgnoreRules rules;
    rules.add(c.rules, "");
    std::string path = c.path;
    const bool is_folder = path.ends_with('/');
    if (is_folder) path.pop_back();
    EXPECT_EQ(rules.ignored(path, is_folder), c.ignored) << c.rules << " on " << c.path;
  }
}

TEST(IgnoreRules, of_a_folder_hold_below_it_only) {
  IgnoreRules rules;
  rules.add("*.log\n/top\n", "a/b");
  EXPECT_TRUE(rules.ignored("a/b/x.log", false));
  EXPECT_TRUE(rules.ignored("a/b/c/x.log", false));
  EXPECT_TRUE(rules.ignored("a/b/top", false));
  EXPECT_FALSE(rules.ignored("a/b/c/top", false));
  EXPECT_FALSE(rules.ignored("a/x.log", false));
  EXPECT_FALSE(rules.ignored("a/bb/x.log", false));
  EXPECT_FALSE(rules.ignored("a/b", true));
}

TEST(IgnoreRules, of_a_deeper_folder_win_whatever_the_order_of_adding) {
  IgnoreRules rules;
  rules.add("!*.log\n", "a");
  rules.add("*.log\n", "");
  EXPECT_FALSE(rules.ignored("a/x.log", false));
  EXPECT_TRUE(rules.ignored("x.log", false));
}

TEST(IgnoreRules, added_later_for_the_same_folder_win) {
  IgnoreRules rules;
  rules.add("*.log\n", "");
  rules.add("!x.log\n", "");
  EXPECT_FALSE(rules.ignored("x.log", false));
  EXPECT_TRUE(rules.ignored("y.log", false));
}

TEST(IgnoreRules, without_rules_ignore_nothing) {
  IgnoreRules rules;
  rules.add("# only a comment\n\n", "");
  EXPECT_TRUE(rules.empty());
  EXPECT_FALSE(rules.ignored("a", false));
}

TEST(IgnoreRules, stay_fast_on_patterns_that_backtrack) {
  IgnoreRules rules;
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  rules.add(pattern + "b", "");
  EXPECT_FALSE(rules.ignored(std::string(5000, 'a'), false));
}

}  // namespace
}  // namespace tutti
