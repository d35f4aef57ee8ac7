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
#include "base/unique_fd.h"
#include "exec/ssh/ssh_command.h"

namespace tutti {

// Files that a host gets: a snapshot, complete or not at all.
struct Staging {
  SshCommand command;
  std::string root;    // of the agent, there
  std::string digest;  // of the snapshot
  std::string home;    // of the daemon, here
};

// Files that come back: into `folder`, complete or not at all.
struct Collection {
  SshCommand command;
  std::string work;                // the attempt's work directory there
  std::vector<std::string> paths;  // of it
  std::string folder;              // here
  bool rsync = false;              // whether the host has it and its logins are silent
};

// Copies files to hosts as tar streams and from them with tar or rsync, through sessions of
// connections that are there. A few threads of its own; results are told on them. Its end stops
// what is under way.
class Transfers {
 public:
  using Done = std::function<void(Result<void>)>;

  Transfers() = default;
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void stage(Staging staging, Done done);
  void collect(Collection collection, Done done);

 private:
  void push(std::function<void()> work);
  void run();
  Result<void> stage_now(const Staging& staging);
  Result<void> collect_now(const Collection& collection);
  // Writes the first program's input.
  using Feed = std::function<Result<void>(int fd)>;
  using Programs = std::vector<std::vector<std::string>>;
  // Runs programs with each one's output going to the next one's input.
  Result<void> pipeline(const Programs& programs, const Feed& feed = {});
  // The process ids of those that were started are added to `pids`, also if a later one failed.
  Result<void> start(const Programs& programs, UniqueFd input, int errors,
                     std::vector<pid_t>& pids);
  // How the first that failed did so.
  Result<void> wait(const Programs& programs, int errors, const std::vector<pid_t>& pids);

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> wanted_;
  std::set<pid_t> children_;
  bool stop_ = false;
  std::size_t idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace tutti
