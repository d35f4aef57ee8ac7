#pragma once

#include "base/check.h"
#include "control/controller.h"
#include "sim/sim_executor.h"
#include "sim/virtual_clock.h"

namespace tutti {

// Steps until nothing more happens at this very moment; `store` counts rounds. Returns when to step
// again though nobody asks for it; zero: never.
template <typename Store>
TimePoint settle(Controller& controller, SimExecutor& executor, const Store& store,
                 VirtualClock& clock) {
  for (int rounds = 0;; ++rounds) {
    // More than this, while no time passes and nothing starts, is a circle.
    TUTTI_CHECK(rounds < 10'000);
    executor.advance();
    const std::uint64_t before = store.rounds();
    const std::uint64_t starts = executor.starts();
    const TimePoint due = controller.step();
    if (executor.starts() > starts) rounds = 0;
    // A round may have queued reports to the controller itself, such as a launch that failed.
    const TimePoint next = executor.next();
    if (store.rounds() == before && (!next || next > clock.now())) return due;
  }
}

}  // namespace tutti
