#pragma once

#include <memory>
#include <string>
#include <vector>

#include "telemetry/gpu_source.h"
#include "telemetry/monotonic.h"
#include "telemetry/rocm_library.h"

namespace tutti {

// AMD's GPUs by ROCm SMI's library. What a GPU is, is asked for again when their number changes.
class RocmSource : public GpuSource {
 public:
  // An empty path is the usual one. An error: there is no such library, or it is something else.
  static Result<std::unique_ptr<RocmSource>> open(const std::string& path,
                                                  MonotonicClock clock = monotonic_us);
  ~RocmSource() override;

  const char* name() const override { return "rocm"; }
  // Initialises the library again when it failed, at most every five seconds.
  Result<std::vector<GpuReading>> read() override;

 private:
  // What does not change of one GPU.
  struct Card {
    std::uint32_t index = 0;
    GpuReading identity;
  };

  RocmSource(std::unique_ptr<RocmLibrary> library, MonotonicClock clock)
      : library_(std::move(library)), clock_(std::move(clock)) {}
  void start();
  Error failure(const char* what, int code);
  int refresh();
  GpuReading identify(std::uint32_t index) const;
  GpuReading read_card(const Card& card) const;
  void add_processes(std::vector<GpuReading>& readings);
  void add_process(std::uint32_t pid, std::vector<GpuReading>& readings);

  std::unique_ptr<RocmLibrary> library_;
  MonotonicClock clock_;
  bool initialised_ = false;
  bool failing_ = false;
  std::int64_t started_us_ = 0;
  Error last_error_;
  std::vector<Card> cards_;
  std::vector<rocm::Process> processes_;
};

}  // namespace tutti
