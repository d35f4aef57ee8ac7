#include "core/elastic/policies.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "core/elastic/tutti.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

std::unique_ptr<ElasticPolicy> make_whole() {
  return make_tutti_policy({});
}
std::unique_ptr<ElasticPolicy> make_unranked() {
  return make_tutti_policy({.ranks = false});
}
std::unique_ptr<ElasticPolicy> make_unamortised() {
  return make_tutti_policy({.amortises = false});
}

constexpr ElasticTraits kPolicies[] = {
    {.name = "tutti", .summary = "rank-weighted speed with amortised restarts", .make = make_whole},
    {.name = "sia",
     .summary = "fairness-powered goodput (Sia)",
     .make = make_sia_policy,
     .shared = false},
    {.name = "las",
     .summary = "least attained service, two queues (Tiresias)",
     .make = make_las_policy,
     .elastic = false,
     .compact = false},
    {.name = "optimus",
     .summary = "most time saved by one more device (Optimus)",
     .make = make_optimus_policy,
     .elastic = false,
     .compact = false,
     .per_step = true},
    {.name = "fifo",
     .summary = "first come, first served, as asked for",
     .make = make_fifo_policy,
     .elastic = false},
    {.name = "backfill",
     .summary = "first come, first served, others where they delay nobody (EASY)",
     .make = make_backfill_policy,
     .elastic = false},
    // Between users; the jobs of these traces are all of one.
    {.name = "fair",
     .summary = "fair shares between users, as asked for, backfilled",
     .make = make_backfill_policy,
     .elastic = false},
    {.name = "srtf",
     .summary = "shortest remaining time first, as asked for",
     .make = make_srtf_policy,
     .elastic = false},
    {.name = "gavel",
     .summary = "max-min fair shares of time in unlike pools (Gavel)",
     .make = make_gavel_policy,
     .elastic = false},
    {.name = "cells",
     .summary = "most speed as part of each job's best (Crius)",
     .make = make_cells_policy},
    {.name = "tutti-unshared",
     .summary = "tutti, each job finds out for itself how fast it is",
     .make = make_whole,
     .shared = false,
     .ablation = true},
    {.name = "tutti-incurious",
     .summary = "tutti, what nobody has tried is no better than predicted",
     .make = make_whole,
     .curious = false,
     .ablation = true},
    {.name = "tutti-unranked",
     .summary = "tutti, all jobs count the same",
     .make = make_unranked,
     .ablation = true},
    {.name = "tutti-unamortised",
     .summary = "tutti, as if changes of shape cost nothing",
     .make = make_unamortised,
     .ablation = true},
};

}  // namespace

std::span<const ElasticTraits> elastic_policies() {
  return kPolicies;
}

Error unknown_elastic_policy(std::string_view name, bool per_step) {
  std::vector<std::string_view> names;
  std::string known;
  for (const ElasticTraits& one : kPolicies) {
    if (one.ablation || (one.per_step && !per_step)) continue;
    names.push_back(one.name);
    known.append(known.empty() ? "" : ", ").append(one.name);
  }
  return invalid_input("policy: " + shown(name) + " is none of " + known +
                       did_you_mean(name, names));
}

const ElasticTraits* find_elastic_policy(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kPolicies), std::end(kPolicies),
                   [&](const ElasticTraits& one) { return one.name == name; });
  return found == std::end(kPolicies) ? nullptr : found;
}

std::unique_ptr<ElasticPolicy> make_elastic_policy(std::string_view name) {
  const ElasticTraits* const found = find_elastic_policy(name);
  return found == nullptr ? nullptr : found->make();
}

}  // namespace tutti
