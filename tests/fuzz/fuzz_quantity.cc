// The small parsers: amounts, ranges, dependencies, selectors, log patterns. Invariants: values
// stay within their limits; what can be written reads back as the same; errors are one printable
// line.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/array_range.h"
#include "core/spec/dependency.h"
#include "core/spec/field.h"
#include "core/spec/log_pattern.h"
#include "core/spec/quantity.h"
#include "core/spec/selector.h"
#include "core/spec/text.h"

namespace {

template <typename T>
bool good(const tutti::Result<T>& parsed) {
  if (parsed) return true;
  const std::string& message = parsed.error().message;
  TUTTI_CHECK(!tutti::first_control_character(message) && !tutti::first_invalid_utf8(message));
  TUTTI_CHECK(message.size() < 1000);
  return false;
}

void check_amounts(std::string_view text) {
  using namespace tutti;
  if (const auto memory = parse_memory(text); good(memory)) {
    TUTTI_CHECK(memory->value >= 0);
    TUTTI_CHECK(parse_memory(std::to_string(memory->value))->value == memory->value);
    if (memory->value > 0) TUTTI_CHECK(parse_memory(format_memory(*memory)));
  }
  if (const auto cpus = parse_cpus(text); good(cpus)) {
    TUTTI_CHECK(cpus->value > 0 && *parse_cpus(format_cpus(*cpus)) == *cpus);
  }
  if (const auto duration = parse_duration(text); good(duration)) {
    TUTTI_CHECK(duration->value >= 0);
    const auto shorter = parse_duration(format_duration(*duration));
    TUTTI_CHECK(shorter && shorter->value <= duration->value);
  }
  if (const auto share = parse_share(text); good(share)) {
    TUTTI_CHECK(share->value > 0 && share->value <= 1000);
  }
  if (const auto priority = parse_priority(text); good(priority)) {
    TUTTI_CHECK(*parse_priority(std::to_string(*priority)) == *priority);
  }
  static_cast<void>(good(parse_gpus(text)));
}

void check_lists(std::string_view text) {
  using namespace tutti;
  if (const auto tasks = parse_array_range(text); good(tasks)) {
    TUTTI_CHECK(tasks->count >= 1 && tasks->count <= kMaxTasks);
    TUTTI_CHECK(tasks->index_of(tasks->label(tasks->count - 1)) == tasks->count - 1);
    TUTTI_CHECK(*parse_array_range(format_array_range(*tasks)) == *tasks);
  }
  if (const auto list = parse_dependencies(text); good(list)) {
    std::string written;
    for (const Dependency& dependency : *list) {
      written += (written.empty() ? "" : ",") + format_dependency(dependency);
    }
    TUTTI_CHECK(*parse_dependencies(written) == *list);
  }
  if (const auto selection = parse_selector(text); good(selection)) {
    TUTTI_CHECK(selection->all == selection->jobs.empty());
  }
  if (good(check_log_pattern(text))) {
    const std::string path = expand_log_pattern(text, {"1", "2", "3", "../x", "u"});
    TUTTI_CHECK(path.size() + 2 >= text.size() / 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_amounts(text);
  check_lists(text);
  tutti::JobSpec spec;
  for (const std::string_view field : tutti::scalar_fields()) {
    static_cast<void>(good(tutti::set_field(spec, field, text)));
  }
  return 0;
}
