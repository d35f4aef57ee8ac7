#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/elastic/goodput.h"

namespace tutti {

// Devices on each node of a job, in the order of its nodes: {4, 2} are four on one, two on another.
using Layout = std::vector<std::uint32_t>;

struct StepTime {
  double step_s = 0;
  double sync_s = 0;
};

// Measured step times of an application on one type of device.
class StepTable {
 public:
  // Of the folder `traces/<application>`, and the file of values off the table, which need not be
  // there.
  static Result<StepTable> read(const std::string& folder, const std::string& segments,
                                const std::string& type);

  // None: it does not run like that.
  std::optional<StepTime> find(const Layout& layout, std::uint32_t local_batch) const;

  std::uint32_t least_local() const { return least_local_; }
  std::uint32_t most_local() const { return most_local_; }
  // The largest local batch that was measured with this layout, or with one that is as large.
  std::uint32_t most_local(const Layout& layout) const;
  // The largest one with so many devices; none: never measured.
  std::optional<std::uint32_t> most_local_with(std::uint32_t devices) const;
  // The largest local batch on one device by its time: how fast one device is.
  double one_device_speed() const;

 private:
  struct Row {
    std::uint32_t local_batch;
    StepTime time;
  };
  struct Segment {
    std::uint32_t first;
    std::uint32_t last;
    StepTime at_first;
    StepTime at_last;
  };
  struct Scaled {
    std::uint32_t nodes;
    std::uint32_t devices;
    std::uint32_t local_batch;
  };
  Result<void> read_placements(const std::string& path);
  Result<void> read_scalability(const std::string& path);
  Result<void> read_segments(const std::string& path);

  std::map<Layout, std::vector<Row>> rows_;  // by local batch
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Segment>> segments_;
  std::vector<Scaled> scaled_;
  std::map<std::uint32_t, std::uint32_t> most_by_devices_;
  std::uint32_t least_local_ = 0;
  std::uint32_t most_local_ = 0;
};

// How an application learns: epoch by epoch, for each batch that was tried.
class LearningTable {
 public:
  static Result<LearningTable> read(const std::string& folder, const std::string& application);

  double first_batch() const { return curves_.front().batch; }
  double largest_batch() const { return curves_.back().batch; }
  // Of the epoch after `epoch` whole ones, with this batch. None: the batch was not tried.
  std::optional<GradientStats> stats(double batch, std::uint32_t epoch) const;
  // Progress when so many epochs are complete.
  double goal(std::uint32_t epochs) const;
  double iterations(double batch, std::uint32_t epoch) const;
  std::uint32_t epochs() const { return static_cast<std::uint32_t>(goals_.size()); }

 private:
  struct Curve {
    double batch = 0;
    std::vector<double> progress;
    std::vector<double> iteration;
    std::vector<GradientStats> stats;
  };
  // The curves around a batch; the same one twice if it was tried.
  struct Between {
    const Curve* low = nullptr;
    const Curve* high = nullptr;
  };
  Between around(double batch) const;

  std::vector<Curve> curves_;  // by batch
  std::vector<double> goals_;  // at the end of each epoch
};

// All that is known of an application in a benchmark.
struct Application {
  std::string name;
  LearningTable learning;
  std::map<std::string, StepTable> steps;  // by type of device
  std::uint32_t epochs = 0;
  double restart_s = 0;
  double slowdown = 1;
  bool adapts = true;  // false: it keeps its user's batch, on one device
};

// Reads the tables of an application for these types of devices from a folder of benchmark data.
Result<Application> read_application(const std::string& data, const std::string& name,
                                     std::span<const std::string> types);

}  // namespace tutti
