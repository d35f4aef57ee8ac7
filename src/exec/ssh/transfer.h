#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "control/snapshots.h"
#include "exec/ssh/ssh_command.h"
#include "exec/ssh/transfer_board.h"

namespace tutti {

// Files that a host gets: a snapshot, complete or not at all.
struct Staging {
  SshCommand command;
  std::string root;                // of the agent, there
  std::string digest;              // of the snapshot
  std::vector<std::string> there;  // digests of others that the host probably has
  std::string home;                // of the daemon, here
  bool knows_holes = false;        // whether the host's tar does
  NodeId node;
  JobId job;  // that wants it first
};

// Files that come back: into `folder`, complete or not at all.
struct Collection {
  SshCommand command;
  std::string work;                // the attempt's work directory there
  std::vector<std::string> paths;  // of it
  std::string folder;              // here
  bool rsync = false;              // whether the host has it and its logins are silent
  NodeId node;
  JobId job;
};

// Copies files to hosts and from them as tar streams, through sessions of connections that are
// there. A few threads of its own; results are told on them. Its end stops what is under way.
class Transfers {
 public:
  using Done = std::function<void(Result<void>)>;

  Transfers() = default;
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void stage(Staging staging, Done done);
  void collect(Collection collection, Done done);
  // One more job waits for files that are being staged.
  void join(NodeId node, const std::string& digest, JobId job) { board_.join(node, digest, job); }
  // What is being copied; from any thread.
  std::vector<NodeTransfer> under_way(NodeId node) const { return board_.of(node); }

 private:
  using Words = std::vector<std::string>;
  using Work = std::function<Result<void>(TransferMeter&)>;
  // Carries bytes from one program's output to another's input; -1: there is no such program.
  using Relay = std::function<Result<void>(int from, int to)>;

  void push(TransferLabel label, Work work, Done done);
  void run();
  Result<void> stage_now(const Staging& staging, TransferMeter& meter);
  // What is sent becomes the snapshot after `begin`, a command that makes the folder "$1" there.
  Result<void> send_files(const Staging& staging, const SnapshotManifest& entries,
                          const std::string& begin, TransferMeter& meter);
  Result<void> collect_now(const Collection& collection, TransferMeter& meter);
  Result<void> collect_stream(const Collection& collection, const std::string& partial,
                              TransferMeter& meter);
  Result<void> collect_rest(const Collection& collection, const std::string& partial);
  // Runs the two programs, of which one may be empty, with the relay between them.
  Result<void> pipeline(const Words& source, const Relay& relay, const Words& sink);
  Result<void> start(const Words& program, int in, int out, int errors, std::vector<pid_t>& pids);
  // How the first that failed did so.
  Result<void> wait(const std::vector<pid_t>& pids, const std::string& name, int errors);

  TransferBoard board_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> wanted_;
  std::set<pid_t> children_;
  bool stop_ = false;
  std::size_t idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace tutti
