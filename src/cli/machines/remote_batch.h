#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/machines/machines.h"
#include "cli/session.h"
#include "core/plan/slots.h"
#include "core/spec/batch_file.h"

namespace tutti {

// A batch that is to run on machines over SSH.
struct RemoteBatch {
  std::string file;  // as it was given; names the results
  BatchFile batch;
  std::vector<NamedMachine> machines;
  SlotNeed need;
  std::vector<std::string> copy_forward;    // below the current folder
  std::vector<std::string> copy_backwards;  // likewise; empty: nothing comes back
  bool rerun_failed = false;
  bool again = false;  // run all lines, in place of the results that there are
  bool verbose = false;
  bool dry_run = false;
};

// Adds the machines that are no nodes yet, measures them, gives each as many jobs at once as its
// free part allows, submits the batch as one job for them and follows it. Prints what happens as it
// happens. The exit status is not zero when a line failed, now or before.
int run_remote_batch(Session& session, const RemoteBatch& batch);

}  // namespace tutti
