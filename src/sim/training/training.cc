#include "sim/training/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/check.h"
#include "core/elastic/learnt_speeds.h"
#include "core/elastic/placement.h"
#include "core/elastic/policies.h"
#include "core/spec/text.h"
#include "sim/elastic_cluster.h"
#include "sim/training/trainee.h"
#include "sim/training/training_jobs.h"

namespace tutti {
namespace {

constexpr double kHour = 3600;
constexpr double kRoundS = 60;
constexpr double kGavelRoundS = 360;
constexpr double kMostRounds = 100'000;

std::vector<Pool> pools_of(TrainingBenchmark benchmark) {
  if (benchmark == TrainingBenchmark::kPollux64) return {{"aws", 16, 4}};
  return {{"aws", 6, 4}, {"dgx-ext", 2, 8}, {"rtx", 3, 8}};
}

Layout layout_of(const Placement& placement) {
  Layout layout;
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    if (i > 0 && placement.nodes[i] == placement.nodes[i - 1]) {
      ++layout.back();
    } else {
      layout.push_back(1);
    }
  }
  return layout;
}

// Full nodes, then the rest.
Layout ideal_layout(const Pool& pool, std::uint32_t devices) {
  Layout layout(devices / pool.per_node, pool.per_node);
  if (devices % pool.per_node > 0) layout.push_back(devices % pool.per_node);
  return layout;
}

// Part of a node by powers of two, then whole nodes.
std::vector<Shape> compact_shapes(std::uint32_t number, const Pool& pool) {
  std::vector<Shape> shapes;
  for (std::uint32_t n = 1; n < pool.per_node; n *= 2) shapes.push_back({number, 1, n});
  for (std::uint32_t nodes = 1; nodes <= pool.nodes; ++nodes)
    shapes.push_back({number, nodes, nodes * pool.per_node});
  return shapes;
}

// One simulated job and what the scheduler keeps of it.
struct SimulatedJob {
  const TrainingJob* line = nullptr;
  JobId id;  // zero: it has not arrived yet
  std::unique_ptr<Trainee> trainee;
  Placement placement;
  DeclaredLength length;
  double active_sum = 0;  // jobs that were active, summed over the rounds of its life
  std::uint32_t active_rounds = 0;
  JobResult result;
};

class TrainingSimulation : public TrainingMonitor {
 public:
  TrainingSimulation(TrainingBenchmark benchmark, const TrainingOptions& options,
                     const ElasticTraits& traits, std::vector<TrainingJob> lines,
                     std::map<std::string, Application> applications)
      : pools_(pools_of(benchmark)),
        rules_(training_rules(benchmark)),
        options_(options),
        traits_(traits),
        lines_(std::move(lines)),
        applications_(std::move(applications)),
        round_s_(traits.name == "gavel" ? kGavelRoundS : kRoundS),
        policy_(make_elastic_policy(traits.name)),
        cluster_(pools_, *policy_, *this, {.placing = placing_of(traits), .round_s = round_s_}) {
    LengthTeller lengths(options.length, options.seed);
    for (const Pool& pool : pools_) most_nodes_ = std::max(most_nodes_, pool.nodes);
    for (const TrainingJob& line : lines_) {
      SimulatedJob job;
      job.line = &line;
      const Application& application = applications_.at(line.application);
      std::optional<double> fixed;
      if (!traits.elastic || !application.adapts) fixed = line.batch;
      job.trainee = std::make_unique<Trainee>(application, rules_, fixed);
      job.length = lengths.next();
      job.result.name = line.name;
      job.result.kind = line.application;
      job.result.submit_s = line.submit_s;
      job.result.devices = line.devices;
      jobs_.push_back(std::move(job));
    }
    left_ = jobs_.size();
    learn_in_advance();
  }

  Result<RunResult> run() {
    if (const auto error = never_runs()) return *error;
    result_.policy = traits_.name;
    result_.workload = options_.workload;
    set_cluster(pools_, result_);
    const double most = options_.rounds > 0 ? options_.rounds : kMostRounds;
    while (now_s_ < most * kRoundS && left_ > 0) step();
    finish();
    return std::move(result_);
  }

  ElasticJob describe(JobId job, std::span<const Pool> /*pools*/) override {
    return view_of(numbers_.at(job));
  }

 private:
  // What users ask for need not be a power of two.
  static Placing placing_of(const ElasticTraits& traits) {
    return traits.compact && traits.elastic ? Placing::kCompact : Placing::kEmptiest;
  }

  std::string kind_of(const SimulatedJob& job) const {
    return traits_.shared ? job.line->application : job.line->name;
  }

  // A job that can run in no shape would wait for ever.
  std::optional<Error> never_runs() const {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (!view_of(j).options.empty()) continue;
      const TrainingJob& line = lines_[j];
      return invalid_input(fmt::format(
          "job {} can never run under {}: no type has {} GPU{} for batches of {}", shown(line.name),
          traits_.name, line.devices, line.devices == 1 ? "" : "s", line.batch));
    }
    return std::nullopt;
  }

  // Devices that a job of this application can use at most.
  std::uint32_t most_devices(const Application& application) const {
    if (!application.adapts) return 1;
    double most = 0;
    for (const auto& [type, steps] : application.steps)
      most = std::max(most, application.learning.largest_batch() / steps.least_local());
    return static_cast<std::uint32_t>(most);
  }

  void set_limits(const SimulatedJob& job) {
    const Application& application = job.trainee->application();
    for (const Pool& pool : pools_) {
      const StepTable& steps = application.steps.at(pool.type);
      BatchLimits limits = job.trainee->limits(pool.type, {1});
      limits.most_local = steps.most_local();
      if (application.name == "deepspeech2" && pool.type == "rtx") limits.most_local = 57;
      if (const auto less = rules_.most_local.find(application.name);
          less != rules_.most_local.end())
        limits.most_local = less->second;
      speeds_.set_limits(kind_of(job), pool.type, limits, steps.one_device_speed());
    }
  }

  // With warm knowledge every shape has been measured before, at some batches.
  void learn_in_advance() {
    std::set<std::string> seen;
    for (const SimulatedJob& job : jobs_) {
      if (!seen.insert(kind_of(job)).second) continue;
      set_limits(job);
      if (options_.knowledge != Knowledge::kWarm || !traits_.elastic) continue;
      const Application& application = job.trainee->application();
      const double first = application.learning.first_batch();
      speeds_.saw_first_gradient(kind_of(job), *application.learning.stats(first, 0));
      for (std::uint32_t p = 0; p < pools_.size(); ++p) {
        const Pool& pool = pools_[p];
        const StepTable& steps = application.steps.at(pool.type);
        for (const Shape& shape : compact_shapes(p, pool)) {
          const Layout layout = ideal_layout(pool, shape.devices);
          const std::uint32_t most = std::min<std::uint32_t>(
              steps.most_local(layout),
              static_cast<std::uint32_t>(application.learning.largest_batch() / shape.devices));
          for (std::uint32_t local = steps.least_local(); local <= most; local *= 2) {
            if (const auto time = steps.find(layout, local))
              speeds_.saw_step(kind_of(job), pool.type,
                               {shape.nodes, shape.devices, local, time->step_s, time->sync_s});
          }
        }
      }
    }
  }

  void step() {
    submit_until(now_s_ + round_s_);
    for (SimulatedJob& job : jobs_) advance(job);
    now_s_ += round_s_;
    cluster_.move_to(now_s_);
    std::vector<std::size_t> active;
    for (const auto& [id, number] : numbers_) {
      if (!jobs_[number].trainee->finished()) active.push_back(number);
    }
    for (const std::size_t j : active) {
      SimulatedJob& job = jobs_[j];
      job.active_sum += static_cast<double>(active.size());
      ++job.active_rounds;
      apply(job, cluster_.placement_of(job.id));
    }
    sample(active);
  }

  void submit_until(double until_s) {
    for (; arrived_ < lines_.size() && lines_[arrived_].submit_s <= until_s; ++arrived_) {
      const TrainingJob& line = lines_[arrived_];
      SimulatedJob& job = jobs_[arrived_];
      job.id = cluster_.submit(line.submit_s, most_nodes_);
      numbers_[job.id] = arrived_;
    }
  }

  void advance(SimulatedJob& job) {
    if (job.trainee->finished()) return;
    if (job.trainee->running()) {
      job.result.device_s += round_s_ * static_cast<double>(job.placement.nodes.size());
    } else if (job.line->submit_s <= now_s_ + round_s_) {
      job.result.queue_s += now_s_ + round_s_ - std::max(now_s_, job.line->submit_s);
    }
    job.trainee->advance(round_s_);
    for (const auto& [type, sample] : job.trainee->take_samples()) {
      if (traits_.elastic) speeds_.saw_step(kind_of(job), type, sample);
    }
    if (traits_.elastic && job.trainee->running()) learn(job);
    if (!job.trainee->finished()) return;
    --left_;
    const double finish_s = *job.trainee->finish_s();
    cluster_.finish(job.id, finish_s);
    close_span(job, finish_s);
    // The round is not over yet, and is billed as a whole.
    job.result.unused_s =
        (now_s_ + round_s_ - finish_s) * static_cast<double>(job.placement.nodes.size());
  }

  // What the round has shown of the job's speed.
  void learn(const SimulatedJob& job) {
    const Trainee& trainee = *job.trainee;
    if (!trainee.gradient()) return;
    const std::string kind = kind_of(job);
    if (trainee.epoch() == 0 || !speeds_.first_gradient(kind)) {
      speeds_.saw_first_gradient(kind, *trainee.gradient());
    }
    const auto nodes = static_cast<std::uint32_t>(trainee.layout().size());
    const auto devices = static_cast<std::uint32_t>(job.placement.nodes.size());
    const double expected =
        speeds_.rate(kind, trainee.type(), nodes, devices, *trainee.gradient(), false);
    if (!trainee.starting()) speeds_.saw_speed(kind, expected, trainee.speed());
  }

  void apply(SimulatedJob& job, const Placement& placement) {
    const bool moved = placement != job.placement;
    if (!moved) return;
    close_span(job, now_s_);
    job.placement = placement;
    if (placement.nodes.empty()) {
      job.trainee->place({}, {}, true);
      return;
    }
    if (!job.result.first_start_s) job.result.first_start_s = now_s_;
    const Pool& pool = pools_[placement.pool];
    job.trainee->place(pool.type, layout_of(placement), moved);
    JobSpan span{.from_s = now_s_, .to_s = now_s_, .type = pool.type, .nodes = {}};
    for (const std::uint32_t node : placement.nodes)
      span.nodes.push_back(pool_node_name(pool, node));
    job.result.spans.push_back(std::move(span));
  }

  void close_span(SimulatedJob& job, double at_s) {
    if (!job.placement.nodes.empty()) job.result.spans.back().to_s = at_s;
  }

  ElasticJob view_of(std::size_t j) const {
    const SimulatedJob& job = jobs_[j];
    const Trainee& trainee = *job.trainee;
    ElasticJob view;
    view.starting = trainee.running() && trainee.starting();
    view.restart_s = trainee.restart_s();
    view.restarts = trainee.restarts();
    view.wanted = job.line->devices;
    view.remaining = remaining_of(job);
    if (traits_.per_step) {
      add_counts(job, view);
    } else if (!traits_.elastic) {
      add_wanted(job, view);
    } else {
      add_shapes(job, view);
    }
    return view;
  }

  std::optional<double> remaining_of(const SimulatedJob& job) const {
    const Application& application = job.trainee->application();
    if (traits_.per_step) {
      const std::uint32_t last = application.epochs - 1;
      const std::uint32_t epoch = job.trainee->epoch();
      if (last <= epoch) return 1;
      return application.learning.iterations(job.line->batch, last) -
             application.learning.iterations(job.line->batch, epoch);
    }
    return job.length.left(application.learning.goal(application.epochs), job.trainee->progress());
  }

  // Every shape that may be tried: at most twice as many devices as jobs of the kind have had.
  void add_shapes(const SimulatedJob& job, ElasticJob& view) const {
    const std::string kind = kind_of(job);
    std::optional<GradientStats> stats = job.trainee->gradient();
    if (!stats) stats = speeds_.first_gradient(kind);
    view.known = stats && speeds_.knows(kind);
    const std::uint32_t most = std::min(most_devices(job.trainee->application()),
                                        options_.knowledge == Knowledge::kWarm
                                            ? std::numeric_limits<std::uint32_t>::max()
                                            : std::max(2 * speeds_.most_devices(kind), 1u));
    const bool adapts = job.trainee->application().adapts;
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      const Pool& pool = pools_[p];
      if (!adapts && true_rate(job, pool, 1, false) <= 0) continue;
      for (const Shape& shape : compact_shapes(p, pool)) {
        if (!view.known && shape.devices > 1) continue;
        const bool has = job.placement.pool == p && job.placement.nodes.size() == shape.devices;
        if (shape.devices > most && !has) continue;
        const double rate = view.known ? speeds_.rate(kind, pool.type, shape.nodes, shape.devices,
                                                      *stats, traits_.curious)
                                       : 1;
        if (rate > 0 || has) view.options.push_back({shape, rate});
      }
    }
  }

  // What its user asked for, on each type that has so many.
  void add_wanted(const SimulatedJob& job, ElasticJob& view) const {
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      const Pool& pool = pools_[p];
      if (view.wanted > pool.devices()) continue;
      const double rate = true_rate(job, pool, view.wanted, false);
      const auto nodes = (view.wanted + pool.per_node - 1) / pool.per_node;
      if (rate > 0) view.options.push_back({{p, nodes, view.wanted}, rate});
    }
  }

  void add_counts(const SimulatedJob& job, ElasticJob& view) const {
    const Application& application = job.trainee->application();
    const Pool& pool = pools_[0];
    auto most =
        static_cast<std::uint32_t>(job.line->batch / application.steps.at(pool.type).least_local());
    if (!application.adapts) most = 1;
    for (std::uint32_t n = 1; n <= std::min(most, pool.devices()); ++n) {
      const double rate = true_rate(job, pool, n, true);
      if (rate <= 0) return;
      view.options.push_back({{0, (n + pool.per_node - 1) / pool.per_node, n}, rate});
    }
  }

  // With its batch and the best layout, from the tables: what the rivals are told.
  double true_rate(const SimulatedJob& job, const Pool& pool, std::uint32_t devices,
                   bool per_step) const {
    const Application& application = job.trainee->application();
    const Layout layout = ideal_layout(pool, devices);
    const BatchLimits limits = job.trainee->limits(pool.type, layout);
    if (limits.most_local <= 0) return 0;
    BatchChoice split = split_batch(job.line->batch, devices, limits);
    if (per_step && devices == 1 && split.accumulated == 0) {
      split.accumulated = 1;
      split.local = (split.local + 1) / 2;
    }
    const auto room = limits.most / (static_cast<double>(devices) * (split.accumulated + 1));
    split.local = std::min(split.local, static_cast<std::uint32_t>(room));
    const auto time = application.steps.at(pool.type).find(layout, split.local);
    if (!time) return 0;
    const double batch = static_cast<double>(devices) * split.local * (split.accumulated + 1);
    const auto stats = application.learning.stats(batch, job.trainee->epoch());
    if (!stats) return 0;
    const double total_s = time->step_s + split.accumulated * (time->step_s - time->sync_s);
    if (per_step) return 1 / total_s;
    const double slowdown = rules_.slowed ? application.slowdown : 1;
    return step_gain(*stats, batch / limits.first) / total_s / slowdown;
  }

  void sample(const std::vector<std::size_t>& active) {
    ClusterSample now{.at_s = now_s_};
    for (const std::size_t j : active)
      ++(jobs_[j].placement.nodes.empty() ? now.waiting : now.running);
    cluster_.count_use(now);
    result_.samples.push_back(now);
  }

  // How long a job of that application takes alone in a shape, from its start on.
  double alone_s(const TrainingJob& line, const Shape& shape) {
    const auto key = std::tuple(line.application, shape.pool, shape.devices);
    if (const auto found = alone_.find(key); found != alone_.end()) return found->second;
    const Application& application = applications_.at(line.application);
    Trainee trainee(application, rules_,
                    application.adapts ? std::nullopt : std::optional(line.batch));
    const Pool& pool = pools_[shape.pool];
    trainee.place(pool.type, ideal_layout(pool, shape.devices), true);
    double time = 0;
    for (; !trainee.finished() && time < 1000 * kHour; time += kRoundS) trainee.advance(kRoundS);
    return alone_[key] = trainee.finish_s().value_or(time);
  }

  // With as much of each type as is its share while it was there.
  double fair_s(const SimulatedJob& job) {
    const double sharers = std::max(job.active_sum / std::max(job.active_rounds, 1u), 1.0);
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      for (const Shape& shape : compact_shapes(p, pools_[p])) {
        const double share = std::max(pools_[p].devices() / sharers, 1.0);
        if (shape.devices > share || shape.devices > most_devices(job.trainee->application()))
          continue;
        best = std::min(best, alone_s(*job.line, shape));
      }
    }
    return best;
  }

  void finish() {
    result_.decision_ms = cluster_.decision_ms();
    result_.horizon_s = now_s_;
    std::size_t late = 0;
    for (SimulatedJob& job : jobs_) {
      if (job.line->submit_s > now_s_) {
        ++late;
        continue;
      }
      job.result.finish_s = job.trainee->finish_s();
      job.result.restarts = job.trainee->restarts();
      if (!job.result.finish_s) close_span(job, now_s_);
      job.result.alone_s = fair_s(job);
      result_.jobs.push_back(std::move(job.result));
    }
    note_late(late, result_);
  }

  std::vector<Pool> pools_;
  TrainingRules rules_;
  const TrainingOptions& options_;
  const ElasticTraits& traits_;
  std::vector<TrainingJob> lines_;
  std::map<std::string, Application> applications_;
  double round_s_;
  std::unique_ptr<ElasticPolicy> policy_;
  ElasticCluster cluster_;
  std::uint32_t most_nodes_ = 0;  // of one pool
  std::vector<SimulatedJob> jobs_;
  std::map<JobId, std::size_t> numbers_;  // of those that have arrived
  LearntSpeeds speeds_;
  double now_s_ = 0;
  std::size_t left_ = 0;
  std::size_t arrived_ = 0;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, double> alone_;
  RunResult result_;
};

}  // namespace

TrainingRules training_rules(TrainingBenchmark benchmark) {
  if (benchmark == TrainingBenchmark::kSia64) return {};
  return {.moves_are_free = false,
          .slowed = false,
          .restart_s = 30,
          .fit_tolerance = 2.2e-9,
          .local_limit_by_layout = false,
          .most_local = {{"yolov3", 8}}};
}

Result<RunResult> run_training(TrainingBenchmark benchmark, const TrainingOptions& options) {
  const ElasticTraits* traits = find_elastic_policy(options.policy);
  const std::vector<Pool> pools = pools_of(benchmark);
  if (traits == nullptr) return unknown_elastic_policy(options.policy, pools.size() == 1);
  if (traits->per_step && pools.size() > 1)
    return invalid_input("the policy '" + options.policy +
                         "' knows one type of device only: it is for pollux-64");
  Result<std::vector<TrainingJob>> lines = read_training_jobs(options.workload);
  if (!lines) return lines.error();
  std::vector<std::string> types;
  for (const Pool& pool : pools) types.push_back(pool.type);
  std::map<std::string, Application> applications;
  for (const TrainingJob& line : *lines) {
    if (applications.contains(line.application)) continue;
    Result<Application> application = read_application(options.data, line.application, types);
    if (!application)
      return Error{application.error().code,
                   fmt::format("job {}: {}", shown(line.name), application.error().message)};
    applications.emplace(line.application, std::move(*application));
  }
  TrainingSimulation simulation(benchmark, options, *traits, std::move(*lines),
                                std::move(applications));
  return simulation.run();
}

}  // namespace tutti
