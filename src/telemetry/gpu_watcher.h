#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "control/executor.h"
#include "control/front.h"
#include "control/gpu_monitor.h"
#include "telemetry/gpu_source.h"
#include "telemetry/process_tree.h"

namespace tutti {

// The scheduler's device for what a driver tells. `emulation`: the file of an emulated one's state.
Device device_from(const GpuReading& gpu, DeviceId id, const std::string& emulation);

// Stands before the executors of this machine and adds what the drivers of its GPUs tell: the
// node's devices with their health and what others use of them; what each attempt and lease used,
// in its outcome; who uses more than it was granted; and that a device is free, before the end of
// an attempt that had it is passed on. A thread of its own reads the drivers, and only while
// somebody has a device or waits for one. Nothing starts on what was known long ago: then the
// drivers are read first, and the attempt is taken back if others have its device by now, or it is
// sick. Safe from any thread.
class GpuWatcher final : public Executor, public GpuMonitor, private ReportSink {
 public:
  struct Options {
    NodeId node;
    std::string emulation;  // the file of the emulator's state; empty: real devices
  };
  GpuWatcher(Executor& behind, Clock& clock, FoundGpus found, Options options);
  ~GpuWatcher() override;
  GpuWatcher(const GpuWatcher&) = delete;
  GpuWatcher& operator=(const GpuWatcher&) = delete;

  Result<void> attach(const Known& known, ReportSink& sink) override;
  void order(std::vector<Effect> effects) override;
  void journalled(std::span<const AttemptId> ended) override;
  void await_devices(bool awaited) override;
  GpuReport read_now() override;

  // Reads no more. The executors behind may still report.
  void stop();

 private:
  // Less than this is noise: a driver's own context, rounding.
  static constexpr MiB kTolerance{64};

  // An attempt or lease that has devices.
  struct Watched {
    std::vector<DeviceGrant> grants;
    bool lease = false;
    std::int64_t pid = 0;  // zero: has not started
    std::int64_t pid_birth = 0;
    TimePoint started_at;
    std::map<DeviceId, MiB> used;      // at the last reading
    std::map<DeviceId, MiB> reported;  // of what the controller was told
    MiB peak;
    std::int64_t share_sum = 0;  // milli-GPU, over `samples`
    std::int64_t samples = 0;    // readings since it first had memory
    std::uint64_t readings = 0;  // since it started
    bool preallocates = false;
    std::optional<AttemptEnded> ended;  // held back until its devices are free
    TimePoint ended_at;
  };
  // A process on a device, and whose it is.
  struct Seen {
    GpuProcess process;
    std::int64_t root = 0;  // pid of the attempt or lease; zero: foreign
  };
  // How much of each device's compute each of them used.
  using Shares = std::map<AttemptId, std::map<DeviceId, MilliGpu>>;
  struct Reading {
    std::vector<GpuReading> gpus;
    std::vector<std::vector<Seen>> processes;  // by position in `gpus`
    std::string trouble;
  };

  void report(std::vector<Report> reports) override;
  void watch();
  Duration pause_locked() const;
  void read_and_report();
  void watch_locked(const StartAttempt& start);
  bool is_doubtful_locked(const StartAttempt& start) const;
  bool is_worse_locked(const StartAttempt& start) const;
  void withdraw_locked(AttemptId attempt, Ending ending, std::vector<Report>& reports);
  void settle_doubtful_locked(std::vector<Effect>& orders, std::vector<Report>& reports);
  void begin_locked(const AttemptStarted& started);
  bool hold_back_locked(AttemptEnded& ended);

  // ---- gpu_readings.cc
  Reading read();
  std::vector<ProcessRoot> roots_locked() const;
  std::vector<Report> apply_locked(const Reading& reading);
  void apply_devices_locked(const Reading& reading);
  void apply_processes_locked(const Reading& reading);
  std::vector<AttemptId> owners_locked(std::int64_t root, DeviceId device) const;
  void count_samples_locked(const Shares& shares);
  void judge_locked(AttemptId id, Watched& watched, std::vector<Report>& reports);
  void let_pass_locked(std::vector<Report>& reports);
  NodeChanged present_node_locked() const;
  void measure_locked(const Watched& watched, Outcome& outcome) const;
  DeviceId device_of_locked(const std::string& uuid) const;

  Executor& behind_;
  Clock& clock_;
  const Options options_;
  ReportSink* sink_ = nullptr;
  std::string source_names_;
  std::vector<std::string> notes_;
  bool slow_ = false;  // a source is a program that has to be run

  std::mutex source_mutex_;  // guards the sources and the tree; never taken with mutex_ held
  std::vector<std::unique_ptr<GpuSource>> sources_;
  ProcessTree tree_;

  std::mutex order_mutex_;  // orders reach the executor behind in order; taken before mutex_
  std::mutex mutex_;        // guards what follows
  std::condition_variable wake_;
  Node node_;                    // as the executor behind told it
  std::vector<Device> devices_;  // numbered as in the ledger
  std::string trouble_;          // why nothing can be read at present
  std::map<AttemptId, Watched> watched_;
  std::map<AttemptId, StartAttempt> doubtful_;  // to be started if the next reading says so
  std::vector<DeviceReading> newest_;           // by device
  TimePoint read_at_;                           // when that was
  TimePoint busy_until_;                        // read on until then, though nobody has a device
  bool urgent_ = false;                         // read at once
  bool awaited_ = false;                        // somebody waits for a device
  bool idle_ = false;                           // the thread waits for somebody to have a device
  bool changed_ = false;                        // the controller must hear of the node again
  std::vector<Effect> warnings_;                // for whoever holds a lease
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti
