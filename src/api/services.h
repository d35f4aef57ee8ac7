#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "control/front.h"
#include "control/history.h"

namespace tutti {

class EventHub;
class GpuMonitor;
class LeaseDesk;
class NodeMonitor;
class PruneDesk;
class Snapshots;

// The part of `status` that does not change by the second.
struct StatusFacts {
  std::string version;
  std::int64_t pid = 0;
  std::int64_t keeper_pid = 0;  // zero: none
  std::string home;
  std::string listen;  // HOST:PORT where it listens too, with the port that it got; empty: nowhere
  TimePoint started_at;
  MilliCpu slots;
  std::string enforcement_mode;  // "cgroup v2", "cgroup v1" or "process group"
  bool enforces_memory = false;
  bool enforces_cpus = false;
  std::string enforcement_detail;
};

// What the API works with. Everything named here outlives the server; the functions and the history
// are called on the API's thread, the front's replies come on the controller's.
struct Services {
  Front& front;
  History& history;
  EventHub& events;
  Clock& clock;
  Snapshots* snapshots = nullptr;   // null: snapshots are refused
  LeaseDesk* leases = nullptr;      // null: leases are refused
  GpuMonitor* gpus = nullptr;       // null: nothing is known of GPUs
  NodeMonitor* machines = nullptr;  // null: nothing is known of machines elsewhere
  PruneDesk* prunes = nullptr;      // null: prunes are refused
  std::string log_folder;
  std::function<StatusFacts()> facts;
  std::function<void()> stop_daemon;
};

// Where things run. Both may be called from any thread and return at once.
struct Threads {
  using Post = std::function<void(std::function<void()>)>;
  Post api;         // the API's thread
  Post background;  // another one, for what takes long
  // Whether the server is being stopped: what takes long gives up then. Any thread; may be missing.
  std::function<bool()> stopping = {};
};

}  // namespace tutti
