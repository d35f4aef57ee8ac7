#include "core/spec/yaml_tree.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kMaxBytes = 16 * 1024 * 1024;
constexpr std::size_t kMaxDepth = 16;
// What copies made for aliases may add, counted in bytes of text and in nodes.
constexpr std::size_t kMaxAliasCost = 4 * 1024 * 1024;

YamlPlace place_of(const YAML::Mark& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

// Ends the parser's run from within its callbacks; never leaves this file.
struct Stop {
  YamlPlace place;
  std::string why;
};

std::size_t cost_of(const YamlNode& node) {
  std::size_t cost = 64 + node.text.size();
  for (const YamlNode& item : node.items) cost += cost_of(item);
  for (const YamlNode& key : node.keys) cost += cost_of(key);
  return cost;
}

// Builds the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.place = place_of(mark);
    finish(std::move(node), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    last_scalar_ = static_cast<std::size_t>(mark.pos);
    YamlNode node;
    node.kind = YamlNode::Kind::kText;
    node.place = place_of(mark);
    node.text = value;
    finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw Stop{place_of(mark), "this alias refers to itself"};
    alias_cost_ += cost_of(found->second);
    if (alias_cost_ > kMaxAliasCost) {
      throw Stop{place_of(mark), "aliases expand to too much; write the values out"};
    }
    finish(found->second, 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  std::optional<YamlNode> take() { return std::move(root_); }
  // Where in the text the last value begins, or what stands before it, such as an anchor.
  std::size_t last_scalar() const { return last_scalar_; }

 private:
  // A list or mapping that is not closed yet.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::unordered_set<std::string> seen;  // keys
    bool key_is_next = true;
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" is a plain value and "!" a quoted one.
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Stop{place_of(mark), "tags such as " + shown(tag) + " are not supported; remove it"};
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (open_.size() == kMaxDepth) throw Stop{place_of(mark), "is nested too deeply"};
    Open entry;
    entry.node.kind = kind;
    entry.node.place = place_of(mark);
    entry.anchor = anchor;
    open_.push_back(std::move(entry));
  }

  void close() {
    Open entry = std::move(open_.back());
    open_.pop_back();
    finish(std::move(entry.node), entry.anchor);
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      alias_cost_ += cost_of(node);
      if (alias_cost_ > kMaxAliasCost) throw Stop{node.place, "anchors hold too much"};
      anchored_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kMap && parent.key_is_next) {
      add_key(parent, std::move(node));
    } else {
      parent.node.items.push_back(std::move(node));
      parent.key_is_next = true;
    }
  }

  static void add_key(Open& parent, YamlNode key) {
    if (key.kind != YamlNode::Kind::kText) {
      throw Stop{key.place, std::string("a field's name cannot be ") + yaml_kind_name(key.kind)};
    }
    if (!parent.seen.insert(key.text).second) {
      throw Stop{key.place, shown(key.text) + " is given twice; keep one"};
    }
    parent.node.keys.push_back(std::move(key));
    parent.key_is_next = false;
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t alias_cost_ = 0;
  std::size_t last_scalar_ = 0;
  std::optional<YamlNode> root_;
};

YamlPlace place_at(std::string_view text, std::size_t offset) {
  YamlPlace place;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') ++place.line;
    place.column = c == '\n' ? 1 : place.column + 1;
  }
  return place;
}

// What the parser would misread or report badly.
std::optional<Stop> find_bad_text(std::string_view text) {
  if (text.size() > kMaxBytes) return Stop{{}, "is larger than 16 MiB"};
  if (const auto at = first_invalid_utf8(text)) return Stop{place_at(text, *at), "is not UTF-8"};
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool control = (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
    if (control) return Stop{place_at(text, at), "has a control character"};
    const bool tab_first = c == '\t' && (at == 0 || text[at - 1] == '\n');
    if (!tab_first) continue;
    const std::size_t content = text.find_first_not_of(" \t\r", at);
    if (content == text.npos || text[content] == '\n') continue;
    return Stop{place_at(text, at), "is indented with a tab; use spaces"};
  }
  return std::nullopt;
}

// Past blanks, comments, anchors and tags.
std::size_t find_value(std::string_view text, std::size_t at) {
  constexpr std::string_view kBlanks = " \t\r\n";
  while (true) {
    at = std::min(text.find_first_not_of(kBlanks, at), text.size());
    if (at == text.size()) return at;
    if (text[at] == '#')
      at = std::min(text.find('\n', at), text.size());
    else if (text[at] == '&' || text[at] == '!')
      at = std::min(text.find_first_of(kBlanks, at), text.size());
    else
      return at;
  }
}

bool has_closing_quote(std::string_view text, std::size_t at) {
  const char quote = text[at];
  while (++at < text.size()) {
    const bool doubled = quote == '\'' && text.substr(at).starts_with("''");
    if (doubled || (quote == '"' && text[at] == '\\'))
      ++at;
    else if (text[at] == quote)
      return true;
  }
  return false;
}

// The parser takes a quoted value that nothing closes for one that ends with the file; it is then
// the last one.
std::optional<Stop> find_open_quote(std::string_view text, std::size_t last_scalar) {
  const std::size_t at = find_value(text, last_scalar);
  if (at == text.size() || (text[at] != '"' && text[at] != '\'')) return std::nullopt;
  if (has_closing_quote(text, at)) return std::nullopt;
  return Stop{place_at(text, at), "is not valid YAML: this quote is not closed"};
}

}  // namespace

const char* yaml_kind_name(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kText:
      return "text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
  }
  return "nothing";
}

Error yaml_error(const std::string& file_name, YamlPlace place, const std::string& why) {
  return invalid_input(file_name + ":" + std::to_string(place.line) + ":" +
                       std::to_string(place.column) + ": " + why);
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& file_name) {
  if (const auto bad = find_bad_text(text)) return yaml_error(file_name, bad->place, bad->why);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    parser.HandleNextDocument(builder);
    std::optional<YamlNode> root = builder.take();
    if (!root) return yaml_error(file_name, {}, "is empty; write its fields");
    if (const auto open = find_open_quote(text, builder.last_scalar()))
      return yaml_error(file_name, open->place, open->why);
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      const auto other = second.take();
      return yaml_error(
          file_name, other ? other->place : YamlPlace{},
          "starts a second document; a file has one, with several jobs under 'jobs:'");
    }
    return *std::move(root);
  } catch (const Stop& stop) {
    return yaml_error(file_name, stop.place, stop.why);
  } catch (const YAML::Exception& error) {
    // It is met at the end of the text; where the quote is shows when the last line is complete.
    if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR && !text.ends_with('\n')) {
      if (auto again = parse_yaml(std::string(text) + "\n", file_name); !again) return again;
    }
    const YamlPlace place = error.mark.is_null() ? YamlPlace{} : place_of(error.mark);
    return yaml_error(file_name, place, "is not valid YAML: " + error.msg);
  } catch (const std::exception& error) {
    return yaml_error(file_name, {}, std::string("is not valid YAML: ") + error.what());
  }
}

}  // namespace tutti
