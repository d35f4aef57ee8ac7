#include "core/spec/gitignore.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace tutti {
namespace {

using Predicate = int (*)(int);

// The test of a named class such as "alpha" in [[:alpha:]], or null.
Predicate named_class(std::string_view name) {
  struct Named {
    std::string_view name;
    Predicate test;
  };
  static constexpr Named kClasses[] = {
      {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank},
      {"cntrl", std::iscntrl}, {"digit", std::isdigit}, {"graph", std::isgraph},
      {"lower", std::islower}, {"print", std::isprint}, {"punct", std::ispunct},
      {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit},
  };
  for (const Named& known : kClasses) {
    if (known.name == name) return known.test;
  }
  return nullptr;
}

unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}

// Trailing blanks do not count unless escaped.
std::string_view without_trailing_blanks(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size())
      ++at;
    else if (line[at] == ' ')
      continue;
    end = at + 1;
  }
  return line.substr(0, end);
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

IgnorePattern::IgnorePattern(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size() && valid_;) {
    const char c = pattern[at];
    if (c == '*') {
      at = add_stars(pattern, at);
    } else if (c == '?') {
      tokens_.push_back({Kind::kAnyCharacter, 0, 0});
      ++at;
    } else if (c == '[') {
      valid_ = add_class(pattern, at);
    } else if (c == '\\') {
      valid_ = at + 1 < pattern.size();
      if (valid_) tokens_.push_back({Kind::kCharacter, pattern[at + 1], 0});
      at += 2;
    } else {
      tokens_.push_back({Kind::kCharacter, c, 0});
      ++at;
    }
  }
}

// Two or more stars that fill a whole name between slashes stand for folders; others are one star.
std::size_t IgnorePattern::add_stars(std::string_view pattern, std::size_t at) {
  const std::size_t end = std::min(pattern.find_first_not_of('*', at), pattern.size());
  const bool alone_before = at == 0 || pattern[at - 1] == '/';
  if (end - at < 2 || !alone_before || (end < pattern.size() && pattern[end] != '/')) {
    tokens_.push_back({Kind::kStar, 0, 0});
    return end;
  }
  if (end == pattern.size()) {
    tokens_.push_back({Kind::kAnything, 0, 0});
    return end;
  }
  tokens_.push_back({Kind::kFolders, 0, 0});
  return end + 1;
}

// Reads [..] at `at` and moves behind it; false when it is not closed or names an unknown class.
bool IgnorePattern::add_class(std::string_view pattern, std::size_t& at) {
  std::vector<bool> set(256, false);
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool first = true;
  for (;; first = false) {
    if (i >= pattern.size()) return false;
    if (pattern[i] == ']' && !first) break;
    if (pattern.substr(i, 2) == "[:") {
      const std::size_t close = pattern.find(":]", i + 2);
      if (close == pattern.npos) return false;
      const Predicate test = named_class(pattern.substr(i + 2, close - i - 2));
      if (test == nullptr) return false;
      for (int c = 0; c < 128; ++c) {
        if (test(c) != 0) set[static_cast<std::size_t>(c)] = true;
      }
      i = close + 2;
      continue;
    }
    const auto take = [&] {
      if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
      return byte_of(pattern[i++]);
    };
    const unsigned char low = take();
    unsigned char high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      ++i;
      high = take();
    }
    for (unsigned c = low; c <= high; ++c) set[c] = true;
  }
  if (negated) set.flip();
  set[byte_of('/')] = false;
  tokens_.push_back({Kind::kClass, 0, sets_.size()});
  sets_.push_back(std::move(set));
  at = i + 1;
  return true;
}

bool IgnorePattern::accepts(const Token& token, char c) const {
  switch (token.kind) {
    case Kind::kCharacter:
      return token.character == c;
    case Kind::kAnyCharacter:
    case Kind::kStar:
      return c != '/';
    case Kind::kClass:
      return sets_[token.set][byte_of(c)];
    case Kind::kFolders:
    case Kind::kAnything:
      return true;
  }
  return false;
}

// Adds the states that are reached without reading a character. `active[i]`: what stands before
// token i has been matched by path[0, at).
void IgnorePattern::close_over(std::vector<char>& active, std::string_view path,
                               std::size_t at) const {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (active[i] == 0) continue;
    const Kind kind = tokens_[i].kind;
    const bool between_names = at == 0 || path[at - 1] == '/';
    const bool skippable =
        kind == Kind::kStar || kind == Kind::kAnything || (kind == Kind::kFolders && between_names);
    if (skippable) active[i + 1] = 1;
  }
}

bool IgnorePattern::matches(std::string_view path) const {
  if (!valid_) return false;
  std::vector<char> active(tokens_.size() + 1, 0);
  std::vector<char> next(active.size(), 0);
  active[0] = 1;
  for (std::size_t at = 0;; ++at) {
    close_over(active, path, at);
    if (at == path.size()) return active.back() != 0;
    std::fill(next.begin(), next.end(), 0);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (active[i] == 0 || !accepts(tokens_[i], path[at])) continue;
      const Kind kind = tokens_[i].kind;
      const bool stays = kind == Kind::kStar || kind == Kind::kFolders || kind == Kind::kAnything;
      next[stays ? i : i + 1] = 1;
    }
    active.swap(next);
  }
}

void IgnoreRules::add(std::string_view text, std::string_view folder) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (folder.ends_with('/')) folder.remove_suffix(1);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    add_line(without_trailing_blanks(line), folder);
  }
}

void IgnoreRules::add_line(std::string_view line, std::string_view folder) {
  if (line.empty() || line[0] == '#') return;
  const bool negated = line[0] == '!';
  if (negated) line.remove_prefix(1);
  const bool only_folders = line.ends_with('/');
  if (only_folders) line.remove_suffix(1);
  const bool anchored = line.find('/') != line.npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty()) return;
  const std::size_t depth =
      folder.empty() ? 0
                     : 1 + static_cast<std::size_t>(std::count(folder.begin(), folder.end(), '/'));
  Rule rule{std::string(folder), IgnorePattern(line), negated, only_folders, anchored, depth};
  const auto place =
      std::upper_bound(rules_.begin(), rules_.end(), depth,
                       [](std::size_t wanted, const Rule& other) { return wanted < other.depth; });
  rules_.insert(place, std::move(rule));
}

bool IgnoreRules::applies(const Rule& rule, std::string_view path, bool is_folder) {
  if (rule.only_folders && !is_folder) return false;
  if (!rule.folder.empty()) {
    const bool below = path.size() > rule.folder.size() + 1 && path.starts_with(rule.folder) &&
                       path[rule.folder.size()] == '/';
    if (!below) return false;
    path.remove_prefix(rule.folder.size() + 1);
  }
  return rule.pattern.matches(rule.anchored ? path : name_of(path));
}

// By the rules alone, without regard to the folders above.
bool IgnoreRules::decided_ignored(std::string_view path, bool is_folder) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (applies(*rule, path, is_folder)) return !rule->negated;
  }
  return false;
}

bool IgnoreRules::ignored(std::string_view path, bool is_folder) const {
  while (path.ends_with('/')) path.remove_suffix(1);
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    if (decided_ignored(path.substr(0, slash), true)) return true;
  }
  return decided_ignored(path, is_folder);
}

}  // namespace tutti
