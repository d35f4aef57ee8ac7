#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// Where a job and its fields stand in a job file; of a manifest only the job.
struct JobPlace {
  std::uint32_t line = 0;
  std::map<std::string, std::uint32_t, std::less<>> fields;

  // The line of the field with whose name a message begins, else where the job begins.
  std::uint32_t line_of(std::string_view message) const;
  bool operator==(const JobPlace&) const = default;
};

// One job of a job file: what the file itself says. Defaults, paths and the submitter's environment
// are filled in by the reader of the file.
struct JobFileEntry {
  // env holds the additions of this file only; workdir is as written, perhaps relative.
  JobSpec spec;
  // A script to be read by the caller; spec.command.argv then holds its name and arguments, and
  // spec.command.script is still empty.
  std::string script_path;
  // What it waits for of the newest job, such as "last:any"; which one that is the caller knows.
  std::vector<std::string> after_last;
  bool snapshot = false;  // whether a snapshot of the work directory is wanted
  bool on = false;        // whether it says where to run; that is a label of the spec
  bool no_copy = false;   // with on: in the work directory itself
  bool clean_env = false;
  JobPlace place;
  std::vector<std::string> notes;  // of a manifest: what has no effect, for the user
  bool operator==(const JobFileEntry&) const = default;
};

// Reads a YAML job file: one job as a mapping, or several under `jobs:`; or a manifest, as
// manifest.h says. Fields: those of
// scalar_fields() in field.h, and command (text for a shell, or a list of words), script (a path),
// args (a list), lines (a list of commands), labels (a list), on (names of nodes, with commas or
// as a list), results (a list of paths, or a mapping with folder and paths), results_to (that
// folder), env (a mapping), clean_env (true or false), after (a job number, last, or a list of
// them), snapshot (true or false; true with on unless it says false), no_copy (that it says false),
// exclusive (true: share never), workers (a number, a list or a mapping of groups, which begin with
// what the job says of resources), container (an image, or a mapping with image, runtime, build and
// mounts). `file_name` is for messages, which begin with FILE:LINE:COLUMN. Unknown and repeated
// fields, wrong types, tags, tabs as indentation, several documents, more than 16 MiB, and aliases
// that blow up beyond that are errors.
Result<std::vector<JobFileEntry>> parse_job_file(std::string_view text,
                                                 const std::string& file_name);

}  // namespace tutti
