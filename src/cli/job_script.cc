#include "cli/job_script.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <string_view>

#include "cli/job_fields.h"
#include "cli/job_options.h"
#include "cli/read_text.h"

namespace tutti {
namespace {

constexpr OptionGroup kDirectiveGroups[] = {
    {"", kResourceOptions}, {"", kJobOptions}, {"", kManyTasksOptions}};
// The table against which the #TUTTI lines of a script are read.
constexpr Verb kDirectives{.name = "submit",
                           .aliases = kNoAliases,
                           .summary = {},
                           .description = {},
                           .usage = {},
                           .word_choices = {},
                           .tail = Tail::kWords,
                           .least_words = 0,
                           .most_words = 0,
                           .groups = kDirectiveGroups,
                           .examples = {},
                           .run = nullptr};

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? std::string_view() : path;
  while (!rest.empty()) {
    const auto end = rest.find(':');
    const std::string file = std::string(rest.substr(0, end)) + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return true;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return false;
}

bool runnable(const std::string& word) {
  if (word.find('/') != std::string::npos) return ::access(word.c_str(), X_OK) == 0;
  return on_path(word);
}

}  // namespace

Result<std::optional<Script>> script_at(const std::string& word) {
  struct stat status {};
  if (::stat(word.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {std::nullopt};
  if (static_cast<std::size_t>(status.st_size) > kLargestScript) return {std::nullopt};
  auto text = read_text(word, kLargestScript);
  if (!text || text->find('\0') != std::string::npos) return {std::nullopt};
  const bool directives = text->starts_with("#TUTTI") || text->find("\n#TUTTI") != text->npos;
  if (!directives && !(has_shebang(*text) && !runnable(word))) return {std::nullopt};
  auto header = parse_script(*text);
  if (!header) return invalid_input(word + ": " + header.error().message);
  return {Script{std::move(*text), std::move(*header)}};
}

Result<std::vector<std::string>> apply_directives(const Script& script, const std::string& path,
                                                  boost::json::object& job, CopyChoice& copy) {
  std::vector<std::string> settings;
  for (const Directive& directive : script.header.directives) {
    auto parsed = parse_arguments(kDirectives, directive.tokens);
    Result<void> applied = parsed ? apply_job_options(*parsed, job) : parsed.error();
    if (!applied) {
      return invalid_input(fmt::format("{}:{}: {}", path, directive.line, applied.error().message));
    }
    const auto list = parsed->list("env");
    settings.insert(settings.end(), list.begin(), list.end());
    copy.add(*parsed);
  }
  return settings;
}

}  // namespace tutti
