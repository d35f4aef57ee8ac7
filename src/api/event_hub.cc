#include "api/event_hub.h"

#include <variant>

namespace tutti {

void EventHub::published(const Round& round) {
  note_nodes(round);
  if (!followed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  const bool urgent = note_jobs(round);
  ask(urgent, !changed_.empty() || !changed_all_.empty() || !changed_nodes_.empty());
}

void EventHub::note_nodes(const Round& round) {
  for (const Event& event : round.events) {
    const auto* node = std::get_if<NodeChanged>(&event.body);
    const auto* state = std::get_if<NodeStateChanged>(&event.body);
    if (node == nullptr && state == nullptr) continue;
    if (node != nullptr) names_.set(node->node.id, node->node.name);
    const std::lock_guard lock(mutex_);
    if (all_followed_) changed_nodes_.insert(node != nullptr ? node->node.id : state->node);
  }
}

bool EventHub::note_jobs(const Round& round) {
  bool urgent = false;
  for (const JobRow& row : round.jobs) {
    if (all_followed_) {
      if (changed_all_.size() < AllWatch::kMostJobs || changed_all_.contains(row.id)) {
        changed_all_[row.id] = row;
      } else {
        ++dropped_;
      }
    }
    const auto followed = jobs_followed_.find(row.id);
    if (followed == jobs_followed_.end()) continue;
    changed_[row.id] = row;
    const bool starts = row.started_at && !followed->second.started;
    followed->second.started = followed->second.started || starts;
    urgent = urgent || starts || row.finished_at;
  }
  return urgent;
}

void EventHub::ask(bool urgent, bool something) {
  if (!notify_ || !something) return;
  if (urgent && !asked_now_) {
    asked_now_ = true;
    notify_(Haste::kNow);
  }
  const bool rest = !urgent || !changed_all_.empty() || !changed_nodes_.empty();
  if (rest && !asked_later_) {
    asked_later_ = true;
    notify_(Haste::kNextPause);
  }
}

void EventHub::set_notify(Notify notify) {
  const std::lock_guard lock(mutex_);
  notify_ = std::move(notify);
  asked_now_ = false;
  asked_later_ = false;
}

std::shared_ptr<JobWatch> EventHub::watch(JobId job) {
  auto* watch = new JobWatch;
  watch->job = job;
  watches_.push_back(watch);
  const std::lock_guard lock(mutex_);
  ++jobs_followed_[job].followers;
  followed_.store(true, std::memory_order_release);
  return {watch, [this](JobWatch* gone) { unwatch(gone); }};
}

std::shared_ptr<AllWatch> EventHub::watch_all() {
  auto* watch = new AllWatch;
  all_.push_back(watch);
  const std::lock_guard lock(mutex_);
  all_followed_ = true;
  followed_.store(true, std::memory_order_release);
  return {watch, [this](AllWatch* gone) { unwatch_all(gone); }};
}

void EventHub::unwatch(JobWatch* watch) {
  std::erase(watches_, watch);
  const std::lock_guard lock(mutex_);
  const auto followed = jobs_followed_.find(watch->job);
  if (--followed->second.followers == 0) {
    jobs_followed_.erase(followed);
    changed_.erase(watch->job);
  }
  followed_.store(all_followed_ || !jobs_followed_.empty(), std::memory_order_release);
  delete watch;
}

void EventHub::unwatch_all(AllWatch* watch) {
  std::erase(all_, watch);
  delete watch;
  if (!all_.empty()) return;
  const std::lock_guard lock(mutex_);
  all_followed_ = false;
  changed_all_.clear();
  changed_nodes_.clear();
  dropped_ = 0;
  followed_.store(!jobs_followed_.empty(), std::memory_order_release);
}

void EventHub::deliver(Haste haste) {
  std::unordered_map<JobId, JobRow> rows;
  std::map<JobId, JobRow> all_rows;
  std::uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    rows.swap(changed_);
    asked_now_ = false;
    if (haste == Haste::kNextPause) {
      all_rows.swap(changed_all_);
      std::swap(dropped, dropped_);
      asked_later_ = false;
    }
  }
  deliver_jobs(rows);
  if (!all_rows.empty()) deliver_all(all_rows, dropped);
}

void EventHub::deliver_jobs(const std::unordered_map<JobId, JobRow>& rows) {
  if (rows.empty()) return;
  for (JobWatch* watch : watches_) {
    const auto row = rows.find(watch->job);
    if (row == rows.end()) continue;
    watch->row = row->second;
    watch->changed = true;
    if (watch->wake) watch->wake();
  }
}

void EventHub::deliver_all(const std::map<JobId, JobRow>& rows, std::uint64_t dropped) {
  for (AllWatch* watch : all_) {
    watch->dropped += dropped;
    for (const auto& [job, row] : rows) {
      const bool known = watch->jobs.contains(job);
      if (!known && watch->jobs.size() >= AllWatch::kMostJobs) {
        ++watch->dropped;
        continue;
      }
      if (known) ++watch->merged;  // not taken since the last delivery
      watch->jobs[job] = row;
    }
    if (watch->wake) watch->wake();
  }
}

std::vector<NodeId> EventHub::take_changed_nodes() {
  const std::lock_guard lock(mutex_);
  std::vector<NodeId> nodes(changed_nodes_.begin(), changed_nodes_.end());
  changed_nodes_.clear();
  return nodes;
}

void EventHub::deliver_node(const std::string& name, const std::string& json) {
  for (AllWatch* watch : all_) {
    watch->nodes[name] = json;
    if (watch->wake) watch->wake();
  }
}

}  // namespace tutti
