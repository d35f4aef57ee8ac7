#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "control/executor.h"
#include "control/front.h"

namespace tutti {

// What the holder of a lease was granted.
struct LeaseGrant {
  JobId lease;
  Allocation allocation;
  std::vector<Device> devices;   // those of the allocation, in its order
  std::vector<std::string> env;  // "NAME=value"
};

// Who waits for a lease or has it. Called from any thread, with no lock held; must not block.
class LeaseHolder {
 public:
  virtual ~LeaseHolder() = default;
  virtual void granted(const LeaseGrant& grant) = 0;
  virtual void warned(const std::string& message) = 0;
  // The lease is over, whoever ended it; nothing follows.
  virtual void ended(const std::string& message) = 0;
};

// The executor of leases: starting one means telling its holder, and it runs until its holder lets
// go. All other orders go to the executor behind it. A lease whose holder was connected to an
// earlier daemon lasts as long as the process that asked for it. Safe from any thread.
class LeaseDesk final : public Executor, private ReportSink {
 public:
  LeaseDesk(Executor& behind, Clock& clock) : behind_(behind), clock_(clock) {}
  ~LeaseDesk() override;
  LeaseDesk(const LeaseDesk&) = delete;
  LeaseDesk& operator=(const LeaseDesk&) = delete;

  Result<void> attach(const Known& known, ReportSink& sink) override;
  void order(std::vector<Effect> effects) override;
  void journalled(std::span<const AttemptId> ended) override;

  // `holder` wants to hear of this lease, which may have been granted already.
  void wait_for(JobId lease, std::shared_ptr<LeaseHolder> holder);
  // Ends a granted lease. Its holder is told, and then `done` is called, once that is on disk.
  // False: it is not granted (not yet, or not any more).
  bool let_go(JobId lease, Outcome outcome, const std::string& message, std::function<void()> done);
  // Its holder went away: unless it has let go before, as above, and nobody is told.
  bool abandon(JobId lease);
  // The daemon ends: who is cut off from now on did not go away, and keeps what it has.
  void part();

 private:
  struct Lease {
    AttemptId attempt;
    TimePoint started_at;
    LeaseGrant grant;
    std::shared_ptr<LeaseHolder> holder;  // null: not connected
    bool orphan = false;                  // its holder was connected to an earlier daemon
    UniqueFd process;                     // of an orphan's holder
    std::int64_t pid = 0;
    std::int64_t pid_birth = 0;
  };
  // A lease that is over, until that is on disk.
  struct Parting {
    AttemptEnded ended;
    std::shared_ptr<LeaseHolder> holder;  // null: nobody to tell
    std::string message;
    std::function<void()> done;
  };
  // The executor's own inventory does not know leases.
  void report(std::vector<Report> reports) override;
  void start(StartAttempt order, std::vector<std::function<void()>>& calls);
  bool finish(JobId lease, Outcome outcome, const std::string& message, bool tell,
              std::function<void()> done = {});
  void watch_processes();
  void stop_watching();

  Executor& behind_;
  Clock& clock_;
  ReportSink* sink_ = nullptr;

  std::mutex mutex_;  // guards what follows
  std::map<JobId, Lease> leases_;
  std::map<JobId, std::shared_ptr<LeaseHolder>> waiting_;
  std::map<AttemptId, Parting> unacknowledged_;
  bool parting_ = false;
  UniqueFd stop_watch_;
  std::thread watcher_;
};

}  // namespace tutti
