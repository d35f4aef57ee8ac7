#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "core/plan/snapshot.h"

namespace tutti {

// Who comes next, in one pass over a snapshot that it refers to. It knows nothing of nodes. One for
// each Ordering; owned by decide().
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;

  // The position in Snapshot::groups that comes next; nothing when all are removed.
  virtual std::optional<std::size_t> next() const = 0;
  // One task of it was granted: its next job moves up. Returns false when the snapshot shows no
  // further job of that group; it is then removed.
  virtual bool granted(std::size_t position) = 0;
  // Likewise, for all tasks of its oldest job at once.
  virtual bool granted_head(std::size_t position) = 0;
  // Its oldest job with tasks left.
  virtual const ReadyJob& head(std::size_t position) const = 0;
  // It cannot start now: leave it out from here on.
  virtual void remove(std::size_t position) = 0;

 protected:
  QueueOrder() = default;
  QueueOrder(const QueueOrder&) = default;
  QueueOrder& operator=(const QueueOrder&) = default;
};

// The order that the snapshot asks for.
std::unique_ptr<QueueOrder> make_order(const Snapshot& snapshot);

}  // namespace tutti
