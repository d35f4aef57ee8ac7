#include "exec/ssh/transfer_board.h"

#include <utility>

namespace tutti {
namespace {

using Steady = std::chrono::steady_clock;

Duration since(Steady::time_point begin) {
  if (begin == Steady::time_point()) return {};
  const auto spent = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - begin);
  return Duration(spent.count());
}

}  // namespace

TransferBoard::EntryPtr TransferBoard::add(TransferLabel label) {
  auto entry = std::make_shared<Entry>(std::move(label));
  const std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  return entry;
}

void TransferBoard::begin(Entry& entry) {
  const std::lock_guard lock(mutex_);
  entry.began = Steady::now();
}

void TransferBoard::remove(const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  entries_.remove(entry);
}

void TransferBoard::join(NodeId node, const std::string& digest, JobId job) {
  const std::lock_guard lock(mutex_);
  for (const EntryPtr& entry : entries_) {
    if (entry->label.node == node && entry->label.digest == digest) entry->jobs.insert(job);
  }
}

std::vector<NodeTransfer> TransferBoard::of(NodeId node) const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeTransfer> list;
  for (const EntryPtr& entry : entries_) {
    if (entry->label.node != node) continue;
    NodeTransfer one;
    one.back = entry->label.back;
    one.jobs.assign(entry->jobs.begin(), entry->jobs.end());
    one.bytes = entry->meter.done;
    if (const std::int64_t total = entry->meter.total; total >= 0) one.total = total;
    one.elapsed = since(entry->began);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace tutti
