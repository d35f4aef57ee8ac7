#include "sim/training/trainee.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

std::uint32_t devices_of(const Layout& layout) {
  return std::accumulate(layout.begin(), layout.end(), 0u);
}

}  // namespace

Trainee::Trainee(const Application& application, const TrainingRules& rules,
                 std::optional<double> fixed_batch)
    : application_(application), rules_(rules), fixed_batch_(fixed_batch) {}

double Trainee::restart_s() const {
  return rules_.restart_s > 0 ? rules_.restart_s : application_.restart_s;
}

void Trainee::place(const std::string& type, const Layout& layout, bool moved) {
  if (layout.empty()) {
    layout_.clear();
    type_.clear();
    return;
  }
  const bool same = layout == layout_ && type == type_;
  if (same && (!moved || rules_.moves_are_free)) return;
  layout_ = layout;
  type_ = type;
  debt_s_ = restart_s();
  ++starts_;
  choose_batch();
}

void Trainee::advance(double seconds) {
  if (!running() || finished()) {
    clock_s_ += seconds;
    return;
  }
  const double waits = std::min(debt_s_, seconds);
  debt_s_ -= waits;
  clock_s_ += waits;
  seconds -= waits;
  while (seconds > 0 && !finished()) {
    const std::uint32_t steps = batch_.accumulated + 1;
    const double batch = static_cast<double>(devices_of(layout_)) * batch_.local * steps;
    const auto time = application_.steps.at(type_).find(layout_, batch_.local);
    const auto stats = application_.learning.stats(batch, epoch_);
    TUTTI_CHECK(time.has_value() && stats.has_value());
    note_sample(*time);
    gradient_ = *stats;
    const double scale = batch / application_.learning.first_batch();
    const double total_s = time->step_s + batch_.accumulated * (time->step_s - time->sync_s);
    speed_ = step_gain(*stats, scale) / total_s;
    if (rules_.slowed) speed_ /= application_.slowdown;
    const double goal = application_.learning.goal(epoch_ + 1);
    if (progress_ + speed_ * seconds < goal) {
      progress_ += speed_ * seconds;
      clock_s_ += seconds;
      seconds = 0;
    } else {
      // An epoch ends at a whole second, whatever is left of it.
      const double takes = std::nearbyint((goal - progress_) / speed_);
      ++epoch_;
      progress_ = goal;
      clock_s_ += takes;
      seconds -= takes;
      if (epoch_ == application_.epochs) finish_s_ = clock_s_;
    }
    choose_batch();
  }
}

std::vector<std::pair<std::string, StepSample>> Trainee::take_samples() {
  return std::exchange(fresh_, {});
}

BatchLimits Trainee::limits(const std::string& type, const Layout& layout) const {
  const StepTable& steps = application_.steps.at(type);
  std::uint32_t most = rules_.local_limit_by_layout ? steps.most_local(layout) : steps.most_local();
  if (const auto less = rules_.most_local.find(application_.name); less != rules_.most_local.end())
    most = std::min(most, less->second);
  return {application_.learning.first_batch(), application_.learning.largest_batch(),
          static_cast<double>(steps.least_local()), static_cast<double>(most)};
}

void Trainee::choose_batch() {
  const std::uint32_t devices = devices_of(layout_);
  const BatchLimits limit = limits(type_, layout_);
  std::optional<BatchChoice> chosen;
  if (chooser_) chosen = chooser_(type_, layout_, epoch_);
  if (!chosen) {
    const auto learnt = learnt_.find(type_);
    const bool modelled = learnt != learnt_.end() && learnt->second.model && gradient_;
    if (fixed_batch_) {
      chosen = split_batch(*fixed_batch_, devices, limit);
    } else if (modelled) {
      const auto nodes = static_cast<std::uint32_t>(layout_.size());
      chosen = best_batch(*learnt->second.model, *gradient_, nodes, devices, limit);
    }
    if (!chosen || chosen->local == 0)
      chosen = split_batch(std::max(limit.first, limit.least_local * devices), devices, limit);
    if (rules_.local_limit_by_layout) {
      const auto most = application_.steps.at(type_).most_local_with(devices);
      if (most) chosen->local = std::min(chosen->local, *most);
    }
    const double room = limit.most / (static_cast<double>(devices) * (chosen->accumulated + 1));
    chosen->local = std::min(chosen->local, static_cast<std::uint32_t>(room));
  }
  batch_ = *chosen;
}

void Trainee::note_sample(const StepTime& time) {
  const StepSample sample{static_cast<std::uint32_t>(layout_.size()), devices_of(layout_),
                          batch_.local, time.step_s, time.sync_s};
  Learnt& learnt = learnt_[type_];
  const auto key = std::tuple(sample.nodes, sample.devices, sample.local_batch);
  if (!learnt.samples.emplace(key, sample).second) return;
  fresh_.emplace_back(type_, sample);
  if (fixed_batch_ || chooser_) return;
  std::vector<StepSample> samples;
  for (const auto& [point, one] : learnt.samples) samples.push_back(one);
  learnt.model = fit_step_model(samples, rules_.fit_tolerance);
}

}  // namespace tutti
