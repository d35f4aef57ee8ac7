#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "core/model/job_spec.h"
#include "core/spec/node_group.h"
#include "core/speed/speed_table.h"

namespace tutti {

// What `tutti simulate` was asked for. A value that the command line fills and the simulator reads.
struct SimulationRequest {
  // Where the work comes from: files, or what this home has run.
  std::vector<std::string> files;
  std::string format;  // "yaml", "philly", "swf"; empty: as the file looks
  bool from_history = false;
  std::string home;  // absolute
  TimePoint since;   // zero: all of it

  // What is changed of it.
  std::string cluster;  // file; empty: the cluster that the work comes with
  std::vector<NodeGroup> add_nodes;
  double jobs_scale = 1;
  SpeedTable speeds;  // empty: those that the work comes with

  std::vector<std::string> policies;  // at least one
  bool compares = false;              // they are shown side by side, though there may be only one
  std::uint64_t seed = 1;

  // A benchmark instead: "arena-1280", "pollux-64" or "sia-64".
  std::string benchmark;
  std::string data;          // folder
  std::string workload;      // file
  std::string knowledge;     // "cold" or "warm"; empty: cold
  std::string length;        // "declared", "oblivious" or "noisy"
  std::uint32_t rounds = 0;  // zero: until all has ended
  std::string restart_cost;  // "crius" or "others"; empty: crius
  bool timing = false;       // how long decisions took, which differs from run to run

  bool json = false;   // per-job results are wanted too
  std::string report;  // file of the page; empty: none
};

// A figure of a simulated run with what is needed to show it.
struct Figure {
  enum class Unit : std::uint8_t { kSeconds, kMilliseconds, kHours, kPart, kNumber, kRatio };
  enum class Better : std::uint8_t { kNeither, kLess, kMore };
  std::string_view name;  // a constant
  Unit unit = Unit::kNumber;
  Better better = Better::kNeither;
  double value = 0;
  bool known = true;
};

// What is shown of one run.
struct RunFigures {
  std::string policy;
  std::string workload;
  std::uint64_t jobs = 0;
  std::uint64_t finished = 0;
  std::string cluster;  // such as "8 nodes, 64 A100"
  std::vector<Figure> figures;
  std::vector<std::string> notes;  // what should be known of the result; sentences
};

// A job that a home has run: what it asked for and how long its tasks took.
struct RecordedJob {
  JobId id;
  JobSpec spec;
  TimePoint submitted_at;
  std::vector<Duration> runs;  // by task
  // The devices that its first task had; none: it had no devices.
  std::optional<Configuration> had;
  bool timed_out = false;  // its time limit ended it, or a task of it
  bool unknown = false;    // only a measurement could tell how much of a device it needs
  bool measured = false;   // it was the run of its kind that was measured
};

// What a home remembers, for the simulator.
struct Recording {
  std::vector<Node> nodes;
  SpeedTable speeds;
  std::vector<RecordedJob> jobs;  // by time of submission
  std::uint64_t left_out = 0;     // jobs of which no task has run and ended
};

// Where a simulation puts what it has to tell while it runs. Called on its thread.
struct SimulationSinks {
  std::function<void(std::string_view)> json;      // the result, piece by piece; empty: not wanted
  std::function<void(std::string_view)> progress;  // a line that replaces the one before; likewise
};

}  // namespace tutti
