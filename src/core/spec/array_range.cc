#include "core/spec/array_range.h"

#include <optional>

#include "core/spec/text.h"

namespace tutti {
namespace {

// Far below what would overflow, far above what anyone numbers.
constexpr std::uint64_t kMaxLabel = 1'000'000'000'000'000;

Error bad_range(std::string_view text, std::string_view why) {
  return invalid_input("array " + shown(text) + ": " + std::string(why));
}

// Cuts `text` at the first `mark` and gives what follows it; nothing when there is no mark.
std::optional<std::string_view> take_after(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view tail = text.substr(at + 1);
  text = text.substr(0, at);
  return tail;
}

}  // namespace

Result<TaskSet> parse_array_range(std::string_view text) {
  constexpr std::string_view kExample =
      "write FIRST-LAST, with :STEP and %PARALLEL if wanted, such as 1-100, 0-9:2 or 1-100%4";
  std::string_view rest = trimmed(text);
  if (rest.find(',') != std::string_view::npos) {
    return bad_range(
        text,
        "lists are not supported; use a range such as 1-9:4, or `tutti batch` with one "
        "command per line");
  }
  TaskSet tasks;
  tasks.shape = TaskSet::Shape::kArray;
  if (const auto parallel = take_after(rest, '%')) {
    const auto value = parse_digits(*parallel, kMaxTasks);
    if (!value || *value == 0) return bad_range(text, "%PARALLEL must be 1 or more, such as %4");
    tasks.max_parallel = static_cast<std::uint32_t>(*value);
  }
  const auto step_text = take_after(rest, ':');
  const auto last_text = take_after(rest, '-');
  if (step_text && !last_text) return bad_range(text, kExample);
  const auto first = parse_digits(rest, kMaxLabel);
  const auto last = last_text ? parse_digits(*last_text, kMaxLabel) : first;
  const auto step = step_text ? parse_digits(*step_text, kMaxLabel) : 1;
  if (!first || !last || !step) return bad_range(text, kExample);
  if (*step == 0) return bad_range(text, "the step must be 1 or more, such as 0-9:2");
  if (*last < *first) return bad_range(text, "the last number is smaller than the first");
  const std::uint64_t count = (*last - *first) / *step + 1;
  if (count > kMaxTasks) {
    return bad_range(text, std::to_string(count) + " tasks are too many; at most " +
                               std::to_string(kMaxTasks) + " are allowed");
  }
  tasks.count = static_cast<std::uint32_t>(count);
  tasks.first = static_cast<std::int64_t>(*first);
  // With one task no step is ever made; the same value keeps equal task sets equal.
  tasks.step = count == 1 ? 1 : static_cast<std::int64_t>(*step);
  return tasks;
}

std::string format_array_range(const TaskSet& tasks) {
  std::string out = std::to_string(tasks.first);
  if (tasks.count > 1) out += "-" + std::to_string(tasks.label(tasks.count - 1));
  if (tasks.count > 1 && tasks.step != 1) out += ":" + std::to_string(tasks.step);
  if (tasks.max_parallel != 0) out += "%" + std::to_string(tasks.max_parallel);
  return out;
}

}  // namespace tutti
