#include "core/elastic/wanted.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace tutti {

FreeDevices::FreeDevices(const ElasticSnapshot& snapshot) {
  for (const Pool& pool : snapshot.pools) free_.push_back(pool.devices());
}

bool FreeDevices::fits_instead(const Shape& shape, const std::optional<Shape>& left) const {
  const bool same = left && left->pool == shape.pool;
  return shape.devices <= free_[shape.pool] + (same ? left->devices : 0);
}

void FreeDevices::take(const Shape& shape) {
  TUTTI_CHECK(fits(shape));
  free_[shape.pool] -= shape.devices;
}

void FreeDevices::keep_starting(const ElasticSnapshot& snapshot, Choices& choices) {
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const ElasticJob& job = snapshot.jobs[i];
    if (!job.current || !job.starting) continue;
    choices[i] = job.current;
    take(job.options[*job.current].shape);
  }
}

void FreeDevices::keep_running(const ElasticSnapshot& snapshot, Choices& choices) {
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const ElasticJob& job = snapshot.jobs[i];
    if (!job.current) continue;
    choices[i] = job.current;
    take(job.options[*job.current].shape);
  }
}

std::optional<std::size_t> wanted_option(const ElasticJob& job, std::uint32_t pool) {
  // Smaller is better: first not more than wanted, then near to it, then fast.
  const auto rank = [&](const ShapeOption& option) {
    const std::uint32_t devices = option.shape.devices;
    const bool more = devices > job.wanted;
    return std::tuple(more, more ? devices - job.wanted : job.wanted - devices, -option.rate);
  };
  std::optional<std::size_t> best;
  for (std::size_t o = 0; o < job.options.size(); ++o) {
    if (job.options[o].shape.pool != pool) continue;
    if (!best || rank(job.options[o]) < rank(job.options[*best])) best = o;
  }
  return best;
}

std::optional<std::size_t> wanted_option(const ElasticJob& job) {
  if (job.wanted_pool) return wanted_option(job, *job.wanted_pool);
  std::optional<std::size_t> best;
  for (const ShapeOption& option : job.options) {
    const auto here = wanted_option(job, option.shape.pool);
    if (!best || job.options[*here].rate > job.options[*best].rate) best = here;
  }
  return best;
}

double seconds_left(const ElasticJob& job, std::optional<std::size_t> option, double unknown) {
  if (!option) return 0;
  const double run = job.remaining ? *job.remaining / job.options[*option].rate : unknown;
  return job.current ? run : run + job.restart_s;
}

double best_rate(const ElasticJob& job) {
  double best = 0;
  for (const ShapeOption& option : job.options) best = std::max(best, option.rate);
  return best;
}

}  // namespace tutti
