#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/simulation/simulation_request.h"

namespace tutti {

// What `tutti daemon run` was asked for. Empty and zero: the daemon's own choice.
struct DaemonArguments {
  std::string home;             // absolute
  double slots = 0;             // cores that may be used at once
  std::int64_t memory_mib = 0;  // memory that may be used
  PortRange ports;              // that workers may be granted
  std::string listen;           // host:port of a TCP listener
  std::string token_path;       // file with the token of that listener
  std::string tls_certificate;  // PEM file
  std::string tls_key;          // PEM file
  std::string emulate_gpus;     // what was said after --emulate-gpus, such as "4xA100-80G"
};

// The parts of the program that the command line starts but may not depend on.
struct Entries {
  int (*daemon_run)(const DaemonArguments& arguments) = nullptr;
  // Everything after `tutti keeper`: what that means is between the daemon and its keeper.
  int (*keeper_run)(int argc, char** argv) = nullptr;
  // Whether a daemon could open the database of a home.
  Result<void> (*check_database)(const std::string& home) = nullptr;
  Result<std::vector<RunFigures>> (*simulate)(const SimulationRequest& request,
                                              const SimulationSinks& sinks) = nullptr;
};

// The whole command line program; returns the process's exit status: 0 it worked, 1 it failed, 2 it
// was called wrongly, or a job's own status (run, wait, logs -f).
int cli_main(int argc, char** argv, const Entries& entries);

}  // namespace tutti
