#pragma once

#include <memory>

#include "core/elastic/view.h"

namespace tutti {

// What of the policy is in use; all of it, but where somebody wants to know what a part is worth.
struct TuttiSettings {
  bool ranks = true;      // jobs with little left count more
  bool amortises = true;  // a change of shape has to earn what it costs
};

// Every job's speed counts as a part of its best one, weighted by the rank of what it has left; a
// change of shape has to earn what it costs before the next one is likely. See
// docs/design/0005-elastic.md.
std::unique_ptr<ElasticPolicy> make_tutti_policy(const TuttiSettings& settings);

}  // namespace tutti
