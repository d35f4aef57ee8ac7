#include "api/states.h"

#include <algorithm>

#include "base/nearest.h"
#include "core/spec/text.h"

namespace tutti {

Result<std::vector<TaskState>> states_of(const Target& target) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    names.emplace_back(task_state_name(static_cast<TaskState>(i)));
  }
  std::vector<TaskState> states;
  if (const auto named = target.named("state"); !named) return named.error();
  const auto text = target.query("state");
  if (!text) return states;
  for (const std::string_view word : split_commas(*text)) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      return invalid_input("state=" + shown(word) + ": no such state" + did_you_mean(word, names));
    }
    states.push_back(static_cast<TaskState>(found - names.begin()));
  }
  return states;
}

}  // namespace tutti
