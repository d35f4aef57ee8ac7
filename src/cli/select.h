#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/client.h"

namespace tutti {

// A job that a user named, with the labels of the tasks that are meant; none: all of them.
struct ChosenJob {
  std::uint64_t id = 0;
  std::vector<std::int64_t> labels;
};

// What a selector on the command line names, with `last` looked up.
struct Chosen {
  bool all = false;  // "all"; `jobs` is then empty
  std::vector<ChosenJob> jobs;
};

// Of a range, those that are there; an error if that leaves nothing. An Error with kInvalidInput is
// a usage error.
Result<Chosen> choose(Client& client, std::string_view selector);

// Which of these jobs there are.
Result<std::set<std::uint64_t>> present_jobs(Client& client, std::vector<std::uint64_t> ids);

// The one job, and at most one task of it, that verbs such as logs and explain take.
Result<ChosenJob> choose_one(Client& client, std::string_view selector);

// One task of a job, by its number.
Result<boost::json::value> fetch_task(Client& client, std::uint64_t job, std::int64_t label);

// The ids of the jobs in these states ("queued,running"), the newest first.
Result<std::vector<std::uint64_t>> job_ids(Client& client, std::string_view states);

inline constexpr std::string_view kUnfinishedStates = "queued,starting,running";
inline constexpr std::string_view kFinishedStates = "succeeded,failed,cancelled,skipped";

}  // namespace tutti
