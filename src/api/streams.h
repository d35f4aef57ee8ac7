#pragma once

#include <boost/json/fwd.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/byte_source.h"
#include "api/event_hub.h"
#include "api/log_follower.h"
#include "api/services.h"

namespace tutti {

// One server-sent event.
std::string event_text(std::string_view name, std::string_view json);

// Bytes [offset, offset + length) of a log file, as they are. A file that became shorter in the
// meantime ends the stream early, which the client sees by the missing bytes.
class LogBytes : public ByteSource {
 public:
  LogBytes(std::string path, std::uint64_t offset, std::uint64_t length)
      : path_(std::move(path)), offset_(offset), left_(length) {}
  Next pull(std::string& out) override;
  std::optional<Duration> poll_after() const override;

 private:
  std::string path_;
  std::uint64_t offset_;
  std::uint64_t left_;
};

// Follows one job until it, or one task of it, is final: its changes, and the output of some of its
// tasks. All that they wrote comes before the last event, `end`.
class JobStream : public ByteSource {
 public:
  struct Options {
    std::vector<std::uint32_t> tasks;  // whose output is sent
    std::optional<std::uint64_t> tail;
    std::optional<std::uint32_t> until;  // the task whose end is waited for; none: the job's
  };
  // `watch` must be older than `summary`, so that no change falls between them.
  JobStream(const Services& services, std::shared_ptr<JobWatch> watch, JobSummary summary,
            JobSpec spec, const Options& options);
  Next pull(std::string& out) override;
  std::optional<Duration> poll_after() const override;

 private:
  bool pull_log(std::string& out);
  void put_job(std::string_view event, std::string& out);
  bool is_over() const;

  const Services& services_;
  std::shared_ptr<JobWatch> watch_;
  JobSummary summary_;
  JobSpec spec_;
  std::vector<LogFollower> logs_;
  std::optional<std::uint32_t> until_;
  std::size_t next_log_ = 0;
  bool fresh_ = true;  // the client has not seen the newest row
  bool over_ = false;  // as of the newest row: what is waited for is final
};

// Every change of every job and node, merged while the client is slow.
class AllStream : public ByteSource {
 public:
  AllStream(const Services& services, std::shared_ptr<AllWatch> watch);
  Next pull(std::string& out) override;

 private:
  const Services& services_;
  std::shared_ptr<AllWatch> watch_;
  bool begun_ = false;
};

// The row of a job's task if it has only one that was ever touched.
Result<std::optional<TaskRow>> only_task(History& history, const JobSummary& summary);
// A job's object for an answer. One that was skipped says because of whom.
boost::json::object job_object(const Services& services, const JobSummary& summary,
                               const std::optional<TaskRow>& task);

}  // namespace tutti
