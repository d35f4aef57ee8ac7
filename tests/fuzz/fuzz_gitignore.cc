// Ignore rules: the first line is the path, the rest the rules. Invariants: what lies in an ignored
// folder is ignored; taking everything back at the end ignores nothing that has no ignored folder
// above; ignoring everything at the end ignores it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/gitignore.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  const std::string_view path = text.substr(0, end);
  const std::string_view rules_text = end == text.npos ? std::string_view() : text.substr(end + 1);
  IgnoreRules rules;
  rules.add(rules_text, "");
  const bool folder_ignored = rules.ignored(path, true);
  if (rules.ignored(path, false)) TUTTI_CHECK(folder_ignored || rules_text.find('!') != text.npos);
  const bool plain = !path.empty() && !path.ends_with('/') && !path.starts_with('/') &&
                     path.find("//") == path.npos;
  if (!plain) return 0;
  if (folder_ignored) TUTTI_CHECK(rules.ignored(std::string(path) + "/x", false));

  IgnoreRules taken_back = rules;
  taken_back.add("!*", "");
  if (path.find('/') == path.npos) TUTTI_CHECK(!taken_back.ignored(path, false));
  rules.add("**", "");
  TUTTI_CHECK(rules.ignored(path, false));
  return 0;
}
