#pragma once

#include <span>
#include <vector>

#include "control/executor.h"

namespace tutti {

// Sends each order to the executor that has its node: this machine's, or the one for machines
// elsewhere. Has no state; its executors outlive it.
class NodeRouter final : public Executor {
 public:
  NodeRouter(Executor& here, Executor& elsewhere) : here_(here), elsewhere_(elsewhere) {}

  Result<void> attach(const Known& known, ReportSink& sink) override;
  void order(std::vector<Effect> effects) override;
  // Both are told: an executor ignores attempts that it does not know.
  void journalled(std::span<const AttemptId> ended) override;
  // Machines elsewhere are measured all the time.
  void await_devices(bool awaited) override { here_.await_devices(awaited); }

 private:
  Executor& here_;
  Executor& elsewhere_;
};

}  // namespace tutti
