#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "core/model/request.h"
#include "core/spec/gang_env.h"

namespace tutti {

// What the processes of an attempt may use together; zero: it is not limited.
struct Limits {
  MilliCpu cpus;
  MiB memory;
  bool operator==(const Limits&) const = default;
};
// What was stated of resources is a limit, what was assumed is not. Null: the job is no gang.
Limits limits_of(const JobSpec& spec, const WorkerGroup* workers);

// What all attempts of a job share. Sent by reference so that a batch of a hundred thousand lines
// does not carry its environment a hundred thousand times.
struct LaunchContext {
  JobId job;
  std::string workdir;
  std::vector<std::string> env;         // "NAME=value"
  std::vector<std::string> remote_env;  // instead of `env` on a node elsewhere
  std::string snapshot;                 // digest; the work directory is then made from it
  Limits limits;
  Duration time_limit;
  Duration grace;
  // Of a lease, see JobSpec.
  bool lease = false;
  std::int64_t holder_pid = 0;
  std::int64_t holder_birth = 0;
  std::uint32_t group = 0;  // of a gang: which group of ranks it is for
  Duration start_timeout;   // until every rank is ready
};

// Stands in Launch::argv for the path of the file that holds Launch::script_text.
inline constexpr char kScriptPlaceholder[] = "\x01tutti-script";

// What one attempt executes, ready for exec: no further quoting or searching but PATH. A shell is
// named "/bin/bash"; where there is none the executor takes /bin/sh. As a shell does it, a program
// that the system cannot execute for want of a #! line is to be run by that shell.
struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // in addition to, and instead of, the context's
  std::string stdout_path;       // a relative path is below the log folder of the executor
  std::string stderr_path;       // equal to stdout_path: one file for both
  // If not empty the executor keeps it in a private file, mode 0700, for the attempt's time, and
  // replaces the first argv element that is equal to kScriptPlaceholder by the path of that file.
  std::string script_text;
  // If not empty: executed when all processes of the attempt are gone, before its end is told, with
  // the same environment and a time limit. It ends what runs elsewhere on its behalf: a container.
  std::vector<std::string> cleanup;
  // For a node elsewhere: where the results of this attempt go here; empty: nowhere.
  std::string result_folder;
  std::vector<std::string> result_paths;
};

// The variables that make the granted devices, and only those, visible: "NAME=value".
std::vector<std::string> device_environment(const Allocation& allocation, const Node& node);

// `group` is the group of ranks that it is for; of no meaning for what is no gang.
LaunchContext context_of(JobId job, const JobSpec& spec, std::size_t group = 0);

// What to execute for one attempt. `line` is the attempt's command of a batch, empty otherwise.
// Adds the TUTTI_* variables and those that make the granted devices visible; of a gang also what
// tells of its other ranks. What a container needs is in it too.
Launch launch_of(JobId job, const JobSpec& spec, AttemptId attempt, const std::string& line,
                 const Allocation& allocation, const Node& node, const GangPlaces& places = {});

enum class LogStream { kStdout, kStderr };

// Where an attempt's output is: the job's own pattern, or a path below Tutti's log folder. The same
// answer before, during and after the run. Patterns: %j job id, %t task label, %a attempt number,
// %n job name (with '/' as '_'), %u user, %l line of a batch, %% a percent sign; relative to the
// work directory. A pattern for stdout alone is for both streams. Without patterns: <id /
// 1000>/<id>.out, with several tasks <id / 1000>/<id>/<label>.out; ".a2" before ".out" for attempt
// 2 and so on; ".err" for stderr.
std::string log_path(JobId job, const JobSpec& spec, AttemptId attempt, LogStream stream);

}  // namespace tutti
