#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "control/store.h"
#include "core/lifecycle/event.h"
#include "core/model/job_spec.h"
#include "core/spec/launch.h"

namespace tutti {

// Turns placements into launches. The ledger does not keep specs; this keeps the few that are being
// launched right now, and reads the others back from the store. Owned by the controller.
class Launches {
 public:
  explicit Launches(Store& store) : store_(store) {}

  struct Ready {
    std::shared_ptr<const LaunchContext> context;
    Launch launch;
  };

  // A spec that was just submitted and may not be on disk yet; forgotten by committed().
  const JobSpec& remember(JobId job, JobSpec spec);
  void committed();
  // Forgets everything: what was remembered may never have been written, and its number may go to
  // another job.
  void forget();
  const std::unordered_map<JobId, JobSpec>& submitted() const { return submitted_; }

  // `places` is where the ranks of its gang are.
  Result<Ready> launch(const AttemptPlaced& placed, const Node& node, const GangPlaces& places);

 private:
  struct Kept {
    JobSpec spec;  // without lines
    // One; of a gang one for each group of ranks.
    std::vector<std::shared_ptr<const LaunchContext>> contexts;
    std::vector<std::string> lines;  // a part of the batch, from `first_line` on
    std::uint32_t first_line = 0;
    std::size_t bytes = 0;  // of all this, as far as it can be much
    std::list<JobId>::iterator recency;
  };
  void make_room_for(const Kept& fresh);
  Result<Kept*> kept(JobId job);
  Result<std::string> line(JobId job, Kept& kept, std::uint32_t index);

  Store& store_;
  std::unordered_map<JobId, JobSpec> submitted_;
  std::unordered_map<JobId, Kept> kept_;
  std::size_t kept_bytes_ = 0;  // of all of them
  std::list<JobId> recent_;     // newest first
};

}  // namespace tutti
