#include "core/policy/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace tutti {

std::vector<Holder> holders_of(const Ledger& ledger, const Snapshot& snapshot, JobId own,
                               const Node& node) {
  std::map<JobId, Holder> found;
  for (const RunningView& view : snapshot.running) {
    // What is staged behind an attempt inherits its room.
    if (view.node != node.id || view.task.job == own || ledger.find_lane(view.lane)->staged > 0)
      continue;
    Holder& holder = found[view.task.job];
    holder.job = view.task.job;
    const bool known = view.likely_end && (holder.held.empty() || holder.end);
    holder.end = known ? std::max(holder.end, view.likely_end) : TimePoint();
    holder.held.push_back(view.allocation);
  }
  std::vector<Holder> holders;
  for (auto& [job, holder] : found) holders.push_back(std::move(holder));
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return a.end && (!b.end || a.end < b.end);
  });
  return holders;
}

Node node_without(Node node, const std::vector<Holder>& holders) {
  for (const Holder& holder : holders)
    for (const Allocation* held : holder.held) release(node, *held);
  return node;
}

std::vector<Holder> fewest_that_free(const std::vector<Holder>& holders, const Node& node,
                                     const Request& request) {
  constexpr std::size_t kMostTried = 64;
  std::vector<Holder> fewest;
  for (const Holder& holder : holders) {
    if (fewest.size() == kMostTried || fits_now(node_without(node, fewest), request)) break;
    fewest.push_back(holder);
  }
  if (!fits_now(node_without(node, fewest), request)) return {};
  for (std::size_t i = 0; i < fewest.size();) {
    std::vector<Holder> fewer = fewest;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits_now(node_without(node, fewer), request))
      fewest = std::move(fewer);
    else
      ++i;
  }
  return fewest;
}

std::string words_of_ends(const std::vector<Holder>& holders) {
  std::string names;
  std::string list;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const bool last = i + 1 == holders.size();
    names += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", holders[i].job.value);
    list += fmt::format("{}{}", i == 0 ? "" : ",", holders[i].job.value);
  }
  return fmt::format("the end of jobs {} (tutti cancel {})", names, list);
}

}  // namespace tutti
