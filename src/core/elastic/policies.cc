#include "core/elastic/policies.h"

#include <algorithm>

namespace tutti {
namespace {

struct Entry {
  ElasticTraits traits;
  std::unique_ptr<ElasticPolicy> (*make)();
};

const Entry kPolicies[] = {
    {{.name = "tutti", .summary = "rank-weighted speed with amortised restarts"},
     make_tutti_policy},
    {{.name = "sia", .summary = "fairness-powered goodput (Sia)", .shared = false},
     make_sia_policy},
    {{.name = "las",
      .summary = "least attained service, two queues (Tiresias)",
      .elastic = false,
      .compact = false},
     make_las_policy},
    {{.name = "optimus",
      .summary = "most time saved by one more device (Optimus)",
      .elastic = false,
      .compact = false,
      .per_step = true},
     make_optimus_policy},
    {{.name = "fifo", .summary = "first come, first served, as asked for", .elastic = false},
     make_fifo_policy},
    {{.name = "srtf", .summary = "shortest remaining time first, as asked for", .elastic = false},
     make_srtf_policy},
    {{.name = "gavel",
      .summary = "max-min fair shares of time in unlike pools (Gavel)",
      .elastic = false},
     make_gavel_policy},
    {{.name = "cells", .summary = "most speed as part of each job's best (Crius)"},
     make_cells_policy},
};

}  // namespace

const std::vector<ElasticTraits>& elastic_policies() {
  static const std::vector<ElasticTraits> all = [] {
    std::vector<ElasticTraits> traits;
    for (const Entry& entry : kPolicies) traits.push_back(entry.traits);
    return traits;
  }();
  return all;
}

const ElasticTraits* find_elastic_policy(std::string_view name) {
  const auto& all = elastic_policies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ElasticTraits& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::unique_ptr<ElasticPolicy> make_elastic_policy(std::string_view name) {
  for (const Entry& entry : kPolicies) {
    if (entry.traits.name == name) return entry.make();
  }
  return nullptr;
}

}  // namespace tutti
