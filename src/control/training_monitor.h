#pragma once

#include <span>

#include "core/elastic/view.h"
#include "core/model/ids.h"

namespace tutti {

// Port: what training jobs that may change their shape have measured of themselves, and what is
// expected of them. The ledger knows nothing of it. Called by the controller's thread.
class TrainingMonitor {
 public:
  virtual ~TrainingMonitor() = default;

  // A job that may run on these pools: its options, what is known of them, what is left of it and
  // what a restart costs. The ledger's part of the view is filled in by whoever asks.
  virtual ElasticJob describe(JobId job, std::span<const Pool> pools) = 0;
};

}  // namespace tutti
