#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/model/job_spec.h"
#include "core/spec/launch.h"

namespace tutti {

// Where an attempt's output is on this machine.
std::string log_file(const std::string& log_folder, const JobSpec& spec, AttemptId attempt,
                     LogStream stream);

// Up to `most` bytes from `offset` on. A file that is not there, or is no regular file, is empty:
// an attempt may have written nothing, or to /dev/null. One that cannot be opened is an error, for
// what it holds must not be taken for nothing. Never blocks on a pipe.
Result<std::string> read_log(const std::string& path, std::uint64_t offset, std::size_t most);

// The length of the file; zero when it is not there.
Result<std::uint64_t> log_size(const std::string& path);

// The offset of the last `lines` lines. A last line without its newline counts.
Result<std::uint64_t> tail_offset(const std::string& path, std::uint64_t lines);

}  // namespace tutti
