#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "core/elastic/view.h"

namespace tutti {

// What a policy expects of whoever runs it.
struct ElasticTraits {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<ElasticPolicy> (*make)() = nullptr;
  bool elastic = true;  // it chooses shapes; if not, a job gets what it wants or nothing
  bool shared = true;   // jobs of a kind share what is known of it
  bool compact = true;  // jobs get whole nodes, or part of one; if not, the emptiest nodes
  bool per_step =
      false;            // rates and what remains are steps, and every number of devices is offered
  bool curious = true;  // shapes that nobody has tried are taken to be a little better
  bool ablation = false;  // a policy without one of its parts, to tell what that is worth
};

// All policies.
std::span<const ElasticTraits> elastic_policies();
// That there is none of that name: says which there are (ablations apart; with `per_step` false
// also apart from those that need steps), and which may be meant.
Error unknown_elastic_policy(std::string_view name, bool per_step);
// Null: there is none of that name.
const ElasticTraits* find_elastic_policy(std::string_view name);
std::unique_ptr<ElasticPolicy> make_elastic_policy(std::string_view name);

std::unique_ptr<ElasticPolicy> make_backfill_policy();
std::unique_ptr<ElasticPolicy> make_cells_policy();
std::unique_ptr<ElasticPolicy> make_fifo_policy();
std::unique_ptr<ElasticPolicy> make_gavel_policy();
std::unique_ptr<ElasticPolicy> make_las_policy();
std::unique_ptr<ElasticPolicy> make_optimus_policy();
std::unique_ptr<ElasticPolicy> make_sia_policy();
std::unique_ptr<ElasticPolicy> make_srtf_policy();

}  // namespace tutti
