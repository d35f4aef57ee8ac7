#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/training/tables.h"

namespace tutti {

// Which rules of a benchmark a simulated training job obeys.
struct TrainingRules {
  bool moves_are_free = true;   // to other nodes, in the same layout
  bool slowed = true;           // speeds are divided by the application's slowdown
  double restart_s = 0;         // zero: the application's own
  double fit_tolerance = 1e-5;  // of the job's own model
  bool local_limit_by_layout = true;
  std::map<std::string, std::uint32_t> most_local;  // by application, where it is less
};

// One simulated training job: how it progresses with what it is given. It chooses its batch itself,
// by a model of its own measurements, unless its batch is fixed. Owned by the benchmark; one
// thread.
class Trainee {
 public:
  // Chooses the batch in place of the job's own model; none: the model does.
  using Chooser = std::function<std::optional<BatchChoice>(const std::string& type, const Layout&,
                                                           std::uint32_t epoch)>;

  Trainee(const Application& application, const TrainingRules& rules,
          std::optional<double> fixed_batch);

  void set_chooser(Chooser chooser) { chooser_ = std::move(chooser); }

  // From now on it has these devices; empty: none. `moved`: they are on other nodes than before.
  void place(const std::string& type, const Layout& layout, bool moved);
  void advance(double seconds);

  bool finished() const { return finish_s_.has_value(); }
  std::optional<double> finish_s() const { return finish_s_; }
  bool starting() const { return debt_s_ > 0; }
  bool running() const { return !layout_.empty(); }
  std::uint32_t epoch() const { return epoch_; }
  double progress() const { return progress_; }
  std::uint32_t restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }
  double restart_s() const;
  const Layout& layout() const { return layout_; }
  const std::string& type() const { return type_; }
  const BatchChoice& batch() const { return batch_; }
  const Application& application() const { return application_; }
  // Gradient statistics of its last step; none: it has made none.
  const std::optional<GradientStats>& gradient() const { return gradient_; }
  // How fast it went in its last step, in progress per second; zero: it has made none.
  double speed() const { return speed_; }
  // What it measured since this was last asked: type of device and sample.
  std::vector<std::pair<std::string, StepSample>> take_samples();

  BatchLimits limits(const std::string& type, const Layout& layout) const;

 private:
  void choose_batch();
  void note_sample(const StepTime& time);

  const Application& application_;
  const TrainingRules& rules_;
  std::optional<double> fixed_batch_;
  Chooser chooser_;
  double clock_s_ = 0;
  std::string type_;
  Layout layout_;
  BatchChoice batch_;
  double debt_s_ = 0;
  std::uint32_t starts_ = 0;
  std::uint32_t epoch_ = 0;
  double progress_ = 0;
  double speed_ = 0;
  std::optional<double> finish_s_;
  std::optional<GradientStats> gradient_;
  struct Learnt {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, StepSample> samples;
    std::optional<StepModel> model;
  };
  std::map<std::string, Learnt> learnt_;  // by type of device
  std::vector<std::pair<std::string, StepSample>> fresh_;
};

}  // namespace tutti
