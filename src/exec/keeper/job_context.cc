#include "exec/keeper/job_context.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tutti {
namespace {

// Up to '='; a text without one is no variable, but is handed on as it came.
std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::string_view kUmask = "TUTTI_UMASK=";

std::optional<mode_t> parse_umask(std::string_view text) {
  mode_t mask = 0;
  text.remove_prefix(std::min(text.size(), kUmask.size()));
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), mask, 8);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && mask <= 0777 ? std::optional(mask) : std::nullopt;
}

}  // namespace

JobContext::JobContext(ContextOrder order) : order_(std::move(order)) {
  base_.reserve(order_.env.size());
  for (std::string& variable : order_.env) {
    const auto [at, added] = position_.try_emplace(name_of(variable), base_.size());
    if (added) {
      base_.push_back(variable.data());
    } else {
      base_[at->second] = variable.data();
    }
  }
  if (const auto at = position_.find(name_of(kUmask)); at != position_.end())
    umask_ = parse_umask(base_[at->second]);
}

void JobContext::set(const std::string& variable) {
  char* const text = const_cast<char*>(variable.c_str());  // execve() does not write to it
  const auto at = position_.find(name_of(variable));
  if (at != position_.end()) {
    merged_[at->second] = text;
  } else {
    merged_.push_back(text);
  }
}

char* const* JobContext::environment(const std::vector<std::string>& extra,
                                     const std::string& mark) {
  merged_.assign(base_.begin(), base_.end());
  for (const std::string& variable : extra) set(variable);
  set(mark);
  merged_.push_back(nullptr);
  return merged_.data();
}

std::string_view JobContext::search_path(const std::vector<std::string>& extra,
                                         bool& from_extra) const {
  from_extra = false;
  for (auto variable = extra.rbegin(); variable != extra.rend(); ++variable) {
    if (!variable->starts_with("PATH=")) continue;
    from_extra = true;
    return std::string_view(*variable).substr(5);
  }
  const auto at = position_.find("PATH");
  if (at == position_.end()) return kDefaultPath;
  const std::string_view variable = base_[at->second];
  return variable.starts_with("PATH=") ? variable.substr(5) : kDefaultPath;
}

const std::string& JobContext::found(const std::string& program) const {
  static const std::string kNowhere;
  const auto at = found_.find(program);
  return at == found_.end() ? kNowhere : at->second;
}

}  // namespace tutti
