#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "core/model/job_spec.h"

namespace tutti {

inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::uint32_t kMaxRetries = 1000;

// Completes a spec that was just parsed; what is set already stays.
// - A job with lines becomes a batch: one task per line, labels from 1.
// - A GPU request by memory or share alone is for one GPU. Labels are sorted, without repetition.
// - name: the file name of the program, of the script, or of the first word of the shell line;
//   "batch" for a batch.
// - kind: the file name of the first real program of the command (of a batch: of its first line).
//   VAR=value and wrappers (env, nice, nohup, time, …) with their options are passed over; after an
//   interpreter (python, bash, torchrun, …) its script or -m module counts: `python train.py` is of
//   kind train.py, `nice python3 -m pkg.train` of kind pkg.train, `python -c …` of kind python.
// Derived names have '_' for control characters and bytes that are not UTF-8, and are cut at
// kMaxNameBytes.
void fill_defaults(JobSpec& spec);

// The strict check of a complete spec, the same for the API, the command line and job files. The
// message names the field and what to do.
Result<void> validate(const JobSpec& spec);

}  // namespace tutti
