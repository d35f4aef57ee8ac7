#include "core/policy/fair_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace tutti {
namespace {

// A grant counts as this much use until it has ended and its real use is charged.
constexpr double kSecondsPerGrant = 60;

double use_of(MilliCpu cpus) {
  return static_cast<double>(cpus.value) * 1e-3 * kSecondsPerGrant;
}

}  // namespace

FairOrder::FairOrder(const Snapshot& snapshot)
    : snapshot_(snapshot), places_(snapshot.groups.size()) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const GroupView& view = snapshot.groups[i];
    const Duration waited = std::max(snapshot.now - view.heads.front().submitted_at, Duration(0));
    places_[i].priority = view.key->priority + waited.value / kAgingStep.value;
  }
  number_accounts();
  measure_use();
  for (std::size_t i = 0; i < places_.size(); ++i)
    users_[places_[i].user].groups.emplace(head_of(i), i);
  for (std::size_t i = 0; i < users_.size(); ++i)
    projects_[users_[i].project].users.emplace(users_[i].use, i);
  for (std::size_t i = 0; i < projects_.size(); ++i)
    levels_[projects_[i].level].emplace(projects_[i].use, i);
}

void FairOrder::number_accounts() {
  // Few users have many groups.
  using Key = std::tuple<std::int64_t, std::string_view, std::string_view>;
  std::map<Key, std::vector<std::size_t>> positions;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Account& account = snapshot_.groups[i].key->account;
    positions[{-places_[i].priority, account.project, account.user}].push_back(i);
  }
  const Key* before = nullptr;
  for (const auto& [key, of_user] : positions) {
    const bool level = before == nullptr || std::get<0>(key) != std::get<0>(*before);
    const bool project = level || std::get<1>(key) != std::get<1>(*before);
    if (level) levels_.emplace_back();
    if (project) projects_.push_back({.level = levels_.size() - 1});
    users_.push_back({.project = projects_.size() - 1, .first = of_user.front()});
    for (const std::size_t position : of_user) places_[position].user = users_.size() - 1;
    before = &key;
  }
}

// A project's use is that of all its users, whatever the priority of what they wait for now.
void FairOrder::measure_use() {
  std::map<std::string_view, std::map<std::string_view, double>> held;
  for (const User& user : users_) {
    const Account& account = snapshot_.groups[user.first].key->account;
    held[account.project].emplace(account.user, use_of(snapshot_.held[user.first]));
  }
  std::map<std::string_view, double> project_use;
  for (const auto& [project, users] : held) {
    double use = snapshot_.usage->of_project(std::string(project), snapshot_.now);
    for (const auto& [user, held_use] : users) use += held_use;
    project_use[project] = use;
  }
  for (User& user : users_) {
    const Account& account = snapshot_.groups[user.first].key->account;
    user.use = snapshot_.usage->of(account, snapshot_.now) + held[account.project][account.user];
    projects_[user.project].use = project_use[account.project];
  }
}

const ReadyJob& FairOrder::head(std::size_t position) const {
  return snapshot_.groups[position].heads[places_[position].head];
}

JobId FairOrder::head_of(std::size_t position) const {
  return head(position).job;
}

std::optional<std::size_t> FairOrder::next() const {
  if (level_ == levels_.size()) return std::nullopt;
  const Project& project = projects_[levels_[level_].begin()->second];
  return users_[project.users.begin()->second].groups.begin()->second;
}

void FairOrder::remove(std::size_t position) {
  User& user = users_[places_[position].user];
  Project& project = projects_[user.project];
  user.groups.erase({head_of(position), position});
  if (!user.groups.empty()) return;
  project.users.erase({user.use, places_[position].user});
  if (!project.users.empty()) return;
  levels_[project.level].erase({project.use, user.project});
  while (level_ < levels_.size() && levels_[level_].empty()) ++level_;
}

bool FairOrder::granted(std::size_t position) {
  const GroupView& view = snapshot_.groups[position];
  const Place& place = places_[position];
  return charge(position, use_of(weight_of(view.request)),
                place.taken + 1 == view.heads[place.head].tasks);
}

bool FairOrder::granted_head(std::size_t position) {
  MilliCpu weight;
  for (const Request* request : head(position).ranks) weight += weight_of(*request);
  return charge(position, use_of(weight), true);
}

bool FairOrder::charge(std::size_t position, double use, bool next_head) {
  Place& place = places_[position];
  const GroupView& view = snapshot_.groups[position];
  const bool left = !next_head || place.head + 1 < view.heads.size();
  const std::size_t user_index = place.user;
  User& user = users_[user_index];
  Project& project = projects_[user.project];

  if (next_head) user.groups.erase({head_of(position), position});
  if (next_head && left) {
    place.taken = 0;
    ++place.head;
    user.groups.emplace(head_of(position), position);
  } else {
    ++place.taken;
  }
  project.users.erase({user.use, user_index});
  levels_[project.level].erase({project.use, user.project});
  user.use += use;
  project.use += use;
  if (!user.groups.empty()) project.users.emplace(user.use, user_index);
  if (!project.users.empty()) levels_[project.level].emplace(project.use, user.project);
  while (level_ < levels_.size() && levels_[level_].empty()) ++level_;
  return left;
}

}  // namespace tutti
