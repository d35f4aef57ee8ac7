#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/store.h"

namespace tutti {

// Which finished jobs are to be forgotten.
struct PruneRequest {
  std::vector<JobId> jobs;  // empty: all
  TimePoint before;         // only those that had ended by then
  bool dry_run = false;     // only tell what it would do
};

// Files, and what they take on disk.
struct Files {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stuck = 0;  // could not be removed
  Files& operator+=(const Files& other);
};

// What a prune did, or would do.
struct Pruned {
  std::vector<JobId> jobs;
  std::uint64_t tasks = 0;  // of all of them together
  Files files;
  // Chosen jobs that stay, and why.
  std::uint64_t unfinished = 0;
  std::uint64_t needed = 0;  // a job that has not ended starts after it, or runs in its copy
  std::uint64_t recent = 0;  // ended after PruneRequest::before
};

// What may be forgotten of the jobs, at one time.
struct Prunable {
  struct Finished {
    JobId id;
    std::uint32_t tasks = 0;
  };
  std::vector<Finished> jobs;  // by id
  std::uint64_t unfinished = 0;
  std::uint64_t needed = 0;
  std::uint64_t recent = 0;
};

// What the jobs that stay refer to, at one time, and what nothing refers to.
struct Remaining {
  std::set<std::string> snapshots;         // by digest
  std::vector<JobId> halves;               // jobs of which a prune was interrupted
  std::vector<std::int64_t> environments;  // that no job uses
  JobId newest;
};

// Asked in the middle of something that may take long; false: enough.
using GoesOn = std::function<bool()>;

// What is answered when it was enough.
Error prune_was_stopped();

// Port: reads what was committed, for a prune, and leaves off when that is not to go on. One
// thread.
class PruneSource {
 public:
  virtual ~PruneSource() = default;
  // kNotFound when one of the chosen jobs is not there.
  virtual Result<Prunable> prunable(const PruneRequest& request) = 0;
  // As if the jobs of `without` were gone.
  virtual Result<Remaining> remaining(const std::set<JobId>& without) = 0;
  // Whether there is such a job, or may be one day. What cannot be read is there.
  virtual bool is_known(JobId job) = 0;
};

// How files are removed.
struct Removal {
  bool dry_run = false;  // they are only counted
  GoesOn goes_on;        // asked before each file
};

// Port: what jobs leave behind in the home. Called by the prune's thread.
class HomeFiles {
 public:
  using Test = std::function<bool(JobId)>;
  virtual ~HomeFiles() = default;
  // Removes output and work directories of the jobs that are `gone`; files that users named
  // elsewhere stay. The answer to a job is asked for after its file was found.
  virtual Result<Files> remove_of(const Test& gone, const Removal& removal) = 0;
  // Removes snapshots but those that are needed, then content that no snapshot has. What was used
  // in the last hours stays: a client may be about to submit a job with it.
  virtual Result<Files> remove_snapshots(const std::set<std::string>& needed,
                                         const Removal& removal) = 0;
};

}  // namespace tutti
