#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/session.h"
#include "core/speed/speed_table.h"

namespace tutti {

// A run that measures how fast a cell is, as the letters of `profile run` describe it. A value.
struct ProfileRun {
  SpeedCell cell;
  std::string hardware;  // "2_A100", as -x said it
  std::string layers;
  std::string micro_batches;
  std::string dataset = "none";
  std::string iterations;
  std::string attempt = "0";
  std::string job;
  std::string ray_address;
  std::string plan;  // "dp", "pp", "tp", "manual" or "auto"

  // Of its job: what one cell needs and takes says nothing of others.
  std::string kind() const;
  // Below the current folder: profile_result/…/bs_…_try_….log.
  std::string log_path() const;
  // What the command is told, as "NAME=value".
  std::vector<std::string> variables() const;

 private:
  // What of the run is not of its model and hardware, as part of a name: "_layers_16_mb_2_dp".
  std::string details() const;
};
Result<ProfileRun> profile_run_of(const Arguments& arguments);

// Submits the command as a job, waits for it, takes the time of an iteration from what it printed
// and tells the daemon; the exit status of the verb.
int profile_run(Session& session, const Arguments& arguments,
                const std::vector<std::string>& command);

}  // namespace tutti
