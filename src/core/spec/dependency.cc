#include "core/spec/dependency.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "core/spec/text.h"

namespace tutti {
namespace {

using When = Dependency::When;
constexpr std::array kResults = {When::kSuccess, When::kAny, When::kFailure};

// Ids are stored as signed 64-bit numbers.
constexpr std::uint64_t kMaxJobId = std::numeric_limits<std::int64_t>::max();

Error bad_dependency(std::string_view text) {
  return invalid_input("after " + shown(text) +
                       ": write a job's number, such as 12, 12:any or 12:failure");
}

}  // namespace

Result<Dependency> parse_dependency(std::string_view text) {
  const std::string_view body = trimmed(text);
  const std::size_t colon = body.find(':');
  const std::string_view number = body.substr(0, colon);
  const auto id = parse_digits(number, kMaxJobId);
  if (!id && is_digits(number))
    return invalid_input("after " + shown(text) + ": no job has so large a number");
  if (!id || *id == 0) return bad_dependency(text);
  Dependency dependency{JobId(*id), When::kSuccess};
  if (colon == std::string_view::npos) return dependency;
  const std::string_view name = body.substr(colon + 1);
  const auto* const found = std::find_if(kResults.begin(), kResults.end(),
                                         [&](When when) { return when_name(when) == name; });
  if (found == kResults.end()) return bad_dependency(text);
  dependency.when = *found;
  return dependency;
}

Result<void> add_dependency(std::vector<Dependency>& list, const Dependency& dependency) {
  for (const Dependency& known : list) {
    if (known.job != dependency.job) continue;
    if (known.when == dependency.when) return {};
    return invalid_input("after: job " + std::to_string(dependency.job.value) +
                         " is named twice, with '" + when_name(known.when) + "' and '" +
                         when_name(dependency.when) + "'; keep one");
  }
  list.push_back(dependency);
  return {};
}

Result<std::vector<Dependency>> parse_dependencies(std::string_view text) {
  std::vector<Dependency> list;
  for (const std::string_view piece : split_commas(text)) {
    const Result<Dependency> dependency = parse_dependency(piece);
    if (!dependency) return dependency.error();
    if (const Result<void> added = add_dependency(list, *dependency); !added) return added.error();
  }
  return list;
}

std::string format_dependency(const Dependency& dependency) {
  const std::string id = std::to_string(dependency.job.value);
  return dependency.when == When::kSuccess ? id : id + ":" + when_name(dependency.when);
}

}  // namespace tutti
