#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// One compiled pattern of an ignore file. Matching takes time proportional to pattern times path,
// whatever the pattern.
class IgnorePattern {
 public:
  // `pattern` without negation mark, leading and trailing slash.
  explicit IgnorePattern(std::string_view pattern);

  bool matches(std::string_view path) const;

 private:
  enum class Kind : std::uint8_t {
    kCharacter,
    kAnyCharacter,  // ?
    kClass,         // [a-z]
    kStar,          // * within one name
    kFolders,       // **/ : no folder, or any number of them
    kAnything,      // ** at the end
  };
  struct Token {
    Kind kind = Kind::kCharacter;
    char character = 0;
    std::size_t set = 0;  // index into sets_
  };
  using CharacterSet = std::vector<bool>;  // of 256

  bool add_class(std::string_view pattern, std::size_t& at);
  std::size_t add_stars(std::string_view pattern, std::size_t at);
  bool accepts(const Token& token, char c) const;
  void close_over(std::vector<char>& active, std::string_view path, std::size_t at) const;

  std::vector<Token> tokens_;
  std::vector<CharacterSet> sets_;
  bool valid_ = true;  // an open [ or a backslash at the end matches nothing
};

// The rules of a tree's .gitignore and .tuttiignore files, with git's meaning: the last rule that
// matches decides, rules of a deeper folder come after those above it, and what lies in an ignored
// folder cannot be taken back. A value; reads no file.
class IgnoreRules {
 public:
  // Adds the text of an ignore file found in `folder`, a path relative to the root of the tree
  // ("" for the root itself). Within one folder later calls win.
  void add(std::string_view text, std::string_view folder);

  // Whether the path, relative to the root ("a/b.txt"), is left out.
  bool ignored(std::string_view path, bool is_folder) const;

  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    std::string folder;
    IgnorePattern pattern;
    bool negated = false;
    bool only_folders = false;
    bool anchored = false;  // matches the path below `folder`, not just the name
    std::size_t depth = 0;
  };
  static bool applies(const Rule& rule, std::string_view path, bool is_folder);
  bool decided_ignored(std::string_view path, bool is_folder) const;
  void add_line(std::string_view line, std::string_view folder);

  std::vector<Rule> rules_;  // by depth, then in the order added
};

}  // namespace tutti
