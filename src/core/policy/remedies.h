#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/lifecycle/ledger.h"
#include "core/plan/snapshot.h"

namespace tutti {

// The world in which a task waits. It refers to a ledger and to a snapshot of it.
struct Waiting {
  const Ledger& ledger;
  const Snapshot& snapshot;
  std::size_t position = 0;  // of its group
  std::uint64_t older = 0;   // tasks of its group that come before it
};

// Each of these adds changes that would start the task now, alone but for the last two. They are
// not guessed: each is tried on decide().

// Single running jobs whose end would start it, at most three, oldest first. Its own job's end
// would take it away too, so that of that one single tasks are named.
void add_freeing_jobs(const Waiting& waiting, JobId own, const Node& node, const Request& request,
                      std::vector<std::string>& remedies);

// Where no single end is enough: several that are so together.
void add_freeing_set(const Waiting& waiting, JobId own, const Node& node, const Request& request,
                     std::vector<std::string>& remedies);

// What the node has left, if that is less than the request.
void add_smaller_requests(const Waiting& waiting, const Node& node, const Request& request,
                          std::vector<std::string>& remedies);

// That a node which is draining takes work again.
void add_resumed_nodes(const Waiting& waiting, std::vector<std::string>& remedies);

// To come first.
void add_priority(const Waiting& waiting, std::vector<std::string>& remedies);

// Where no single change is enough: the ends of at most eight jobs (or tasks of its own) that run,
// and fewer of them with a higher priority.
void add_combinations(const Waiting& waiting, JobId own, std::vector<std::string>& remedies);

// The ends of all that its job waits for, if they leave enough room.
void add_awaited_ends(const Waiting& waiting, const Job& job, std::vector<std::string>& remedies);

}  // namespace tutti
