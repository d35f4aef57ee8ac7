#pragma once

#include <cstdint>
#include <span>

namespace tutti {

// How long one optimiser step was seen to take: with so many devices on so many nodes, and so many
// samples on each device. `sync_s` is the part in which gradients are exchanged.
struct StepSample {
  std::uint32_t nodes = 1;
  std::uint32_t devices = 1;
  std::uint32_t local_batch = 1;
  double step_s = 0;
  double sync_s = 0;
};

// The squared length of the gradient and its variance: they say how much a larger batch helps.
struct GradientStats {
  double sqr = 1;
  double var = 0;
};

// How much more progress a step makes with `scale` times the first batch: 1 … scale.
double step_gain(const GradientStats& stats, double scale);

// Predicts step times: computing is linear in the local batch, exchanging grows with the devices,
// and the two overlap by `overlap` (1: not at all).
struct StepModel {
  double compute = 0.1;
  double compute_per_sample = 0.01;
  double across = 0.1;  // between nodes
  double across_per_device = 0.01;
  double within = 0.1;  // between the devices of one node
  double within_per_device = 0.01;
  double overlap = 1.001;

  double compute_s(double local_batch) const { return compute + compute_per_sample * local_batch; }
  double exchange_s(std::uint32_t nodes, std::uint32_t devices) const;
  double step_s(std::uint32_t nodes, std::uint32_t devices, double local_batch) const;
};

// The model that fits the samples best; `tolerance` ends the search. At least one sample.
StepModel fit_step_model(std::span<const StepSample> samples, double tolerance);

// Which batches a job can use.
struct BatchLimits {
  double first = 1;        // the batch that it was tuned for: progress is counted in steps of that
  double most = 1;         // in all
  double least_local = 1;  // on one device
  double most_local = 1;
};

// A batch: `local` samples on each device, and so many more such steps before gradients are used.
struct BatchChoice {
  std::uint32_t local = 0;  // zero: none is possible
  std::uint32_t accumulated = 0;
  double goodput = 0;  // samples per second, weighted with what they are worth
};

// The best of 50 batches between the smallest and the largest one.
BatchChoice best_batch(const StepModel& model, const GradientStats& stats, std::uint32_t nodes,
                       std::uint32_t devices, const BatchLimits& limits);

// Splits a batch of `total` over the devices.
BatchChoice split_batch(double total, std::uint32_t devices, const BatchLimits& limits);

}  // namespace tutti
