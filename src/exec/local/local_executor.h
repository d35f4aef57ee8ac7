#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "control/executor.h"
#include "exec/local/keeper_process.h"
#include "exec/local/roster.h"
#include "exec/local/workdirs.h"

namespace tutti {

// What this machine is to the scheduler, and where its keeper lives.
struct LocalOptions {
  std::string home;
  std::string node_name;  // empty: the host's name
  MilliCpu slots;
  MiB memory;
  PortRange ports;                        // that attempts may be granted
  std::string binary = "/proc/self/exe";  // started as `binary keeper --home HOME`
  std::uint64_t descriptors = 0;          // soft limit for jobs, if this process has raised its own
  unsigned umask = 077;                   // of jobs that do not say theirs
};

// Runs attempts on this machine through its keeper, which it starts when none runs and starts again
// when it dies. Orders may come from one thread; a thread of its own turns what the keeper says
// into reports. Its end leaves the keeper and all attempts alone.
class LocalExecutor final : public Executor {
 public:
  static constexpr NodeId kNode = kThisMachine;

  static Result<std::unique_ptr<LocalExecutor>> create(LocalOptions options);
  ~LocalExecutor() override;
  LocalExecutor(const LocalExecutor&) = delete;
  LocalExecutor& operator=(const LocalExecutor&) = delete;

  // May be called again: then everything is reported again.
  Result<void> attach(const Known& known, ReportSink& sink) override;
  void order(std::vector<Effect> effects) override;
  void journalled(std::span<const AttemptId> ended) override;

  // Zero while none runs. From any thread.
  std::int64_t keeper_pid() const { return keeper_pid_; }

 private:
  explicit LocalExecutor(LocalOptions options);

  // ---- the connection; local_connection.cc
  Result<Listing> take_connection(KeeperConnection connection);
  Result<bool> meet_keeper(Listing& listing);
  void stop_reading();
  void read_loop();
  bool receive();
  void recover();
  bool resume();
  void lose_everything();
  void start_anew();
  void accept_orders();
  void tell_state(Node::State state, const std::string& reason);
  void send_locked(const std::string& frames);
  void flush_locked();
  void wake_reader() const;

  // ---- orders; with mutex_ held
  void carry_out(Effect effect, std::string& frames, std::vector<Report>& reports);
  void carry_out(StartAttempt order, std::string& frames, std::vector<Report>& reports);
  void carry_out(const StopAttempt& order, std::string& frames, std::vector<Report>& reports);
  void carry_out(const RecallAttempt& order, std::string& frames, std::vector<Report>& reports);
  // What its devices do is in `tutti gpus`; a process cannot be told.
  void carry_out(const WarnAttempt&, std::string&, std::vector<Report>&) {}
  // Of nodes elsewhere.
  void carry_out(const WatchNode&, std::string&, std::vector<Report>&) {}
  void carry_out(const ForgetNode&, std::string&, std::vector<Report>&) {}
  void carry_out(const ReleaseAttempt& order, std::string& frames, std::vector<Report>&);
  void get_ready(StartAttempt order, std::string& frames, std::vector<Report>& reports);
  void start(StartAttempt order, std::string& frames);
  bool withdraw_parked(AttemptId attempt, Ending ending, std::vector<Report>& reports);
  void forget_use(JobId job, std::string& frames);
  void workdir_ready(JobId job, const Result<void>& made);

  const LocalOptions options_;
  const KeeperPlace place_;
  ReportSink* sink_ = nullptr;
  std::atomic<std::int64_t> keeper_pid_{0};
  std::atomic<bool> stop_{false};

  std::mutex mutex_;  // guards what follows up to the threads
  UniqueFd fd_;
  KeeperRecord keeper_;
  std::uint32_t keeper_version_ = kKeeperVersion;
  bool down_ = true;              // no keeper to give orders to
  std::vector<Effect> deferred_;  // orders that came meanwhile
  std::vector<AttemptId> deferred_acks_;
  std::string unsent_;
  Roster roster_;
  SentContexts contexts_;
  std::unordered_map<JobId, std::vector<StartAttempt>> parked_;  // until their folder is made
  std::map<AttemptId, StartAttempt> held_;                       // until they are released

  FrameBuffer in_;  // the reader's
  UniqueFd wake_;
  std::thread reader_;
  Workdirs workdirs_;  // last: its thread calls workdir_ready()
};

}  // namespace tutti
