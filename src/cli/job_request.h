#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/session.h"
#include "core/spec/job_file.h"

namespace tutti {

// Jobs as POST /v1/jobs takes them, and which of them want a snapshot of their work directory.
struct JobRequests {
  boost::json::array jobs;
  std::vector<bool> snapshots;
  std::string file;              // that asks for them; empty: none does
  std::vector<JobPlace> places;  // where each stands there
};

// What is wrong with these jobs, with the name of their file in front.
Error fault_in(const JobRequests& requests, const Error& error);

// The jobs that the words and options of `submit` and `run` ask for, as POST /v1/jobs takes them: a
// command, a script with #TUTTI lines, or a YAML job file. What is said on the command line wins
// over what a file says. Everything is checked here already; an error is a usage error.
Result<JobRequests> jobs_of(Session& session, const Arguments& arguments);

// A batch of these lines with the options of `arguments`.
Result<JobRequests> batch_of(Session& session, const Arguments& arguments,
                             const std::vector<std::string>& lines,
                             const std::vector<std::uint32_t>& line_numbers);

// Takes the snapshots that are wanted and puts their digests into the jobs. Sends much to the
// daemon, so it stands apart from the checking above.
Result<void> add_snapshots(Session& session, JobRequests& requests);

// How many ranks a job as POST /v1/jobs takes it has, if it is a gang; otherwise zero.
std::uint64_t ranks_in(const boost::json::value& job);

// Whether such a job has several tasks that start one by one, so that no output is the job's own.
bool has_many_tasks(const boost::json::value& job);

// Where the digests of files in snapshots are remembered; empty: nowhere.
std::string digest_file();

}  // namespace tutti
