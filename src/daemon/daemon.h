#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "core/model/node.h"

namespace tutti {

// What the daemon was asked for. Empty and zero: its own choice.
struct DaemonOptions {
  std::string home;             // absolute
  double slots = 0;             // cores that attempts may use at once
  MiB memory;                   // memory that attempts may use
  PortRange ports;              // that attempts may be granted
  std::string listen;           // host:port of a TCP listener
  std::string token_path;       // file with that listener's token
  std::string tls_certificate;  // PEM file
  std::string tls_key;          // PEM file
  std::string emulate_gpus;     // such as "4xA100-80G": GPUs that are not there
};

// The daemon in the foreground: composes store, executor, controller and API, and returns the exit
// status when it was told to stop. Running attempts go on without it.
int run_daemon(const DaemonOptions& options);

// Whether a daemon could open the home's database; see check_database().
Result<void> check_home_database(const std::string& home);

// `tutti keeper …`: see exec/keeper.
int run_keeper(int argc, char** argv);

}  // namespace tutti
