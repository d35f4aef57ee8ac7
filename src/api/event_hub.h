#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/node_names.h"
#include "control/front.h"

namespace tutti {

// Who follows one job. Held by the stream that asked; API thread only. `wake` must not end a watch
// itself, only arrange for it.
struct JobWatch {
  JobId job;
  JobRow row;  // the newest; meaningful when `changed`
  bool changed = false;
  std::function<void()> wake;
};

// Who follows all jobs. Changes of a job that the client has not taken yet are merged, and beyond
// kMostJobs dropped, so that a slow client costs a bounded amount. API thread only.
struct AllWatch {
  static constexpr std::size_t kMostJobs = 10000;
  std::map<JobId, JobRow> jobs;
  std::map<std::string, std::string> nodes;  // name → JSON of the node
  std::uint64_t merged = 0;                  // changes since the last `lagged` that it will not see
  std::uint64_t dropped = 0;
  std::function<void()> wake;
};

// Carries what the controller published to those who follow jobs. The controller's side copies the
// changed rows that somebody follows and asks the API's thread to deliver them: at once when a
// followed job starts or ends, otherwise at most once in kPause. Without followers it does nothing.
class EventHub : public Publisher {
 public:
  static constexpr Duration kPause = milliseconds(100);
  // How soon the API's thread should call deliver().
  enum class Haste { kNow, kNextPause };
  using Notify = std::function<void(Haste)>;

  // Controller thread.
  void published(const Round& round) override;

  // Whom to ask for a delivery, on the controller's thread; empty: nobody.
  void set_notify(Notify notify);

  // API thread from here on. Following ends when the last reference is gone.
  std::shared_ptr<JobWatch> watch(JobId job);
  std::shared_ptr<AllWatch> watch_all();
  // Hands over changes of followed jobs; with kNextPause those for followers of all jobs, too.
  void deliver(Haste haste);
  // The nodes that changed since the last call; only collected while somebody follows all jobs.
  std::vector<NodeId> take_changed_nodes();
  void deliver_node(const std::string& name, const std::string& json);
  bool has_followers_of_all() const { return !all_.empty(); }

  NodeNames& nodes() { return names_; }
  const NodeNames& nodes() const { return names_; }

 private:
  struct Followed {
    std::uint32_t followers = 0;
    bool started = false;  // its start was announced
  };
  void note_nodes(const Round& round);
  bool note_jobs(const Round& round);
  void ask(bool urgent, bool something);
  void unwatch(JobWatch* watch);
  void unwatch_all(AllWatch* watch);
  void deliver_jobs(const std::unordered_map<JobId, JobRow>& rows);
  void deliver_all(const std::map<JobId, JobRow>& rows, std::uint64_t dropped);

  NodeNames names_;
  std::atomic<bool> followed_{false};  // anybody at all: what published() looks at first

  std::mutex mutex_;  // guards what follows, up to the lists of the API thread
  Notify notify_;
  bool all_followed_ = false;
  std::unordered_map<JobId, Followed> jobs_followed_;
  std::unordered_map<JobId, JobRow> changed_;  // of followed jobs
  std::map<JobId, JobRow> changed_all_;        // of all, for those who follow all
  std::uint64_t dropped_ = 0;
  std::set<NodeId> changed_nodes_;
  bool asked_now_ = false;
  bool asked_later_ = false;

  std::vector<JobWatch*> watches_;  // API thread
  std::vector<AllWatch*> all_;      // API thread
};

}  // namespace tutti
