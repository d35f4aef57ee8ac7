#include "core/policy/queue_order.h"

#include "core/policy/fair_order.h"
#include "core/policy/fifo.h"
#include "core/policy/las.h"
#include "core/policy/ranked_order.h"
#include "core/policy/srtf.h"

namespace tutti {

std::unique_ptr<QueueOrder> make_order(const Snapshot& snapshot) {
  switch (snapshot.ordering) {
    case Ordering::kFair:
      break;
    case Ordering::kFifo:
    case Ordering::kBackfill:
      return std::make_unique<RankedOrder>(snapshot, fifo_rank());
    case Ordering::kSrtf:
      return std::make_unique<RankedOrder>(snapshot, srtf_rank());
    case Ordering::kLas:
      return std::make_unique<RankedOrder>(snapshot, las_rank(snapshot));
  }
  return std::make_unique<FairOrder>(snapshot);
}

}  // namespace tutti
