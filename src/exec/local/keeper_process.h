#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/keeper/messages.h"

namespace tutti {

// Where a keeper belongs and how a new one is started.
struct KeeperPlace {
  std::string home;
  std::string binary = "/proc/self/exe";  // started as `binary keeper --home HOME`
  std::uint64_t descriptors = 0;          // soft limit for jobs, if this process has raised its own
  unsigned umask = 077;                   // of jobs that do not say theirs
};

// A connection over which the keeper has said who it is.
struct KeeperConnection {
  UniqueFd fd;
  Welcome welcome;
};

// How long a keeper may take to answer.
inline constexpr int kKeeperAnswerMs = 10 * 1000;

// Connects to the keeper that runs, or kUnavailable.
Result<KeeperConnection> reach_keeper(const KeeperPlace& place);

// Connects to the keeper that runs, or starts one. It is no child of this process and outlives it.
// Takes milliseconds; gives up after seconds, or when `stop` becomes true.
Result<KeeperConnection> reach_or_start_keeper(const KeeperPlace& place,
                                               const std::atomic<bool>& stop);

// What is remembered of the keeper that has taken orders, in the file state/keeper below the home.
struct KeeperRecord {
  std::string incarnation;
  std::vector<std::string> cgroups;
  // Its process, and when that started (start_ticks): of records of older programs zero.
  std::int64_t pid = 0;
  std::uint64_t birth = 0;
};
// Whether that very process still runs and serves another home than `home`: one that was copied
// remembers the keeper of the original.
bool serves_another_home(const KeeperRecord& record, const std::string& home);
// Kills that very process, if it still runs, and returns when it is gone, after half a minute at
// most.
void end_keeper(const KeeperRecord& record);
// kNotFound when no keeper ever took orders here.
Result<KeeperRecord> read_keeper_record(const std::string& home);
Result<void> write_keeper_record(const std::string& home, const KeeperRecord& record);

// Whether that incarnation ended by itself, when it had nothing more to keep.
bool ended_clean(const std::string& home, const std::string& incarnation);

// One whole message from the keeper, at most `timeout_ms` later.
Result<FromKeeper> read_message(int fd, FrameBuffer& in, int timeout_ms);

// Sends all of it, waiting at most `timeout_ms` each time that the keeper does not read.
Result<void> send_frames(int fd, const std::string& frames, int timeout_ms);

}  // namespace tutti
