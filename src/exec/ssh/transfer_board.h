#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "control/node_monitor.h"

namespace tutti {

// How far one copy is. Written by the thread that copies, read by any.
struct TransferMeter {
  std::atomic<std::int64_t> done{0};    // bytes
  std::atomic<std::int64_t> total{-1};  // negative: not known
};

// What a copy is for: who asks is shown those of a node, and who follows a job those of it.
struct TransferLabel {
  NodeId node;
  bool back = false;
  std::string digest;  // of the snapshot; empty: results
  JobId job;
};

// Copies that are wanted or under way. Safe from any thread.
class TransferBoard {
 public:
  struct Entry {
    explicit Entry(TransferLabel given) : label(std::move(given)), jobs{label.job} {}
    const TransferLabel label;
    TransferMeter meter;
    std::set<JobId> jobs;                         // guarded by the board, as what follows
    std::chrono::steady_clock::time_point began;  // zero: it waits for its turn
  };
  using EntryPtr = std::shared_ptr<Entry>;

  EntryPtr add(TransferLabel label);
  void begin(Entry& entry);
  void remove(const EntryPtr& entry);
  // One more job waits for files that are on their way.
  void join(NodeId node, const std::string& digest, JobId job);
  std::vector<NodeTransfer> of(NodeId node) const;

 private:
  mutable std::mutex mutex_;
  std::list<EntryPtr> entries_;
};

}  // namespace tutti
