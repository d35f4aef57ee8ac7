#include "core/policy/fair_order.h"

#include <algorithm>

namespace tutti {
namespace {

// A grant counts as this much use until it has ended and its real use is charged.
constexpr double kSecondsPerGrant = 60;

double use_of(MilliCpu cpus) { return static_cast<double>(cpus.value) * 1e-3 * kSecondsPerGrant; }

}  // namespace

FairOrder::FairOrder(const Snapshot& snapshot)
    : snapshot_(snapshot), places_(snapshot.groups.size()) {
  std::map<Account, double> use;
  std::map<std::string, double> project_use;
  for (std::size_t i = 0; i < snapshot.groups.size(); ++i) {
    const Account& account = snapshot.groups[i].key->account;
    const auto [it, fresh] = use.try_emplace(account);
    if (!fresh) continue;
    const double held = use_of(snapshot.held_cpus[i]);
    it->second = snapshot.usage->of(account, snapshot.now) + held;
    const auto [project, first] = project_use.try_emplace(account.project);
    if (first) project->second = snapshot.usage->of_project(account.project, snapshot.now);
    project->second += held;
  }
  for (std::size_t i = 0; i < snapshot.groups.size(); ++i) {
    const GroupView& view = snapshot.groups[i];
    const Duration waited = std::max(snapshot.now - view.heads.front().submitted_at, Duration(0));
    places_[i].level = view.key->priority + waited.value / kAgingStep.value;
    Project& project = levels_[places_[i].level].projects[view.key->account.project];
    project.use = project_use[view.key->account.project];
    project.users[view.key->account.user].use = use[view.key->account];
  }
  for (std::size_t i = 0; i < snapshot.groups.size(); ++i) insert(i);
}

void FairOrder::insert(std::size_t position) {
  const GroupView& view = snapshot_.groups[position];
  const Place& place = places_[position];
  Level& level = levels_[place.level];
  Project& project = level.projects[view.key->account.project];
  User& user = project.users[view.key->account.user];
  user.groups.emplace(view.heads[place.head].job, position);
  project.order.emplace(user.use, view.key->account.user);
  level.order.emplace(project.use, view.key->account.project);
}

void FairOrder::remove(std::size_t position) {
  const GroupView& view = snapshot_.groups[position];
  const Place& place = places_[position];
  Level& level = levels_[place.level];
  Project& project = level.projects[view.key->account.project];
  User& user = project.users[view.key->account.user];
  user.groups.erase({view.heads[place.head].job, position});
  if (!user.groups.empty()) return;
  project.order.erase({user.use, view.key->account.user});
  if (!project.order.empty()) return;
  level.order.erase({project.use, view.key->account.project});
  if (level.order.empty()) levels_.erase(place.level);
}

std::optional<std::size_t> FairOrder::next() const {
  if (levels_.empty()) return std::nullopt;
  const Level& level = levels_.begin()->second;
  const Project& project = level.projects.at(level.order.begin()->second);
  const User& user = project.users.at(project.order.begin()->second);
  return user.groups.begin()->second;
}

bool FairOrder::granted(std::size_t position) {
  const GroupView& view = snapshot_.groups[position];
  Place& place = places_[position];
  Level& level = levels_[place.level];
  Project& project = level.projects[view.key->account.project];
  User& user = project.users[view.key->account.user];
  const double use = use_of(view.key->request.cpus);

  level.order.erase({project.use, view.key->account.project});
  project.order.erase({user.use, view.key->account.user});
  user.groups.erase({view.heads[place.head].job, position});
  user.use += use;
  project.use += use;
  bool left = true;
  if (++place.taken == view.heads[place.head].tasks) {
    place.taken = 0;
    left = ++place.head < view.heads.size();
  }
  if (left) user.groups.emplace(view.heads[place.head].job, position);
  if (!user.groups.empty()) project.order.emplace(user.use, view.key->account.user);
  if (!project.order.empty()) level.order.emplace(project.use, view.key->account.project);
  if (level.order.empty()) levels_.erase(place.level);
  return left;
}

}  // namespace tutti
