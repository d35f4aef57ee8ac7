#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/lifecycle/event.h"
#include "exec/keeper/messages.h"

namespace tutti {

// What the local executor knows of the attempts that its keeper has: enough to say what is lost
// when the keeper dies, and which job's context is there. Guarded by its executor's mutex.
class Roster {
 public:
  void ordered(AttemptId attempt, LaneId lane, bool staged);
  void started(const AttemptStarted& started);
  // False: the attempt is not known, so its end was told before.
  bool ended(const AttemptEnded& ended);
  void restore(const Listing& listing);
  void clear();

  bool has(AttemptId attempt) const { return attempts_.contains(attempt); }
  std::vector<pid_t> sessions() const;
  // Forgets all attempts and returns their ends. As many of each lane give an allocation back as
  // the lane has.
  std::vector<AttemptEnded> lose_all(TimePoint now, const std::string& why);
  // The same for those that are neither staged nor running there.
  std::vector<AttemptEnded> lose_unlisted(const Listing& listing, TimePoint now,
                                          const std::string& why);

 private:
  struct Entry {
    LaneId lane;
    TimePoint started_at;
    pid_t pid = 0;
  };
  using Widths = std::unordered_map<LaneId, std::uint32_t>;
  // `kept`: allocations of each lane that are not given back.
  std::vector<AttemptEnded> lose(std::vector<AttemptId> lost, const Widths& kept, TimePoint now,
                                 const std::string& why);

  std::unordered_map<AttemptId, Entry, AttemptHash> attempts_;
  Widths width_;
};

// Which jobs' contexts the keeper has. Those of jobs without attempts are kept for a while, because
// a batch often has more to come. Guarded by its executor's mutex.
class SentContexts {
 public:
  static constexpr std::size_t kMostIdle = 64;

  // One more attempt of the job, of this group of its ranks. True: their context must be sent
  // first.
  bool use(JobId job, std::uint32_t group = 0);
  // One attempt less. The job whose context the keeper is to forget, if any.
  std::optional<JobId> release(JobId job);
  void clear();

 private:
  struct Entry {
    std::uint32_t uses = 0;
    std::uint32_t group = 0;          // whose context was sent last
    std::list<JobId>::iterator idle;  // valid when uses is zero
  };
  std::unordered_map<JobId, Entry> entries_;
  std::list<JobId> idle_;  // the longest idle first
};

}  // namespace tutti
