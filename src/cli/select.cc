#include "cli/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <string>
#include <utility>

#include "client/views.h"
#include "core/spec/selector.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

Result<std::uint64_t> last_job(Client& client) {
  auto answer = client.request("GET", "/v1/jobs/last", {});
  if (!answer) return answer.error();
  const auto id = integer_at(*answer, "id");
  if (!id || *id <= 0) return not_found("there is no job yet; submit one with 'tutti submit'");
  return static_cast<std::uint64_t>(*id);
}

// Numbers of a range that no job has, or has any more, are passed over.
Result<void> drop_holes(Client& client, std::vector<SelectedJob>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const SelectedJob& job : jobs) {
    if (job.of_range) ids.push_back(job.job.value);
  }
  if (ids.empty()) return {};
  const auto present = present_jobs(client, std::move(ids));
  if (!present) return present.error();
  std::erase_if(jobs, [&](const SelectedJob& job) {
    return job.of_range && !present->contains(job.job.value);
  });
  return {};
}

Result<Chosen> look_up(Client& client, SelectedJobs selected, std::string_view selector) {
  if (auto done = drop_holes(client, selected.jobs); !done) return done.error();
  if (selected.jobs.empty() && !selected.all)
    return not_found("there is no job of " + shown(selector));
  Chosen chosen;
  chosen.all = selected.all;
  for (SelectedJob& job : selected.jobs) {
    std::uint64_t id = job.job.value;
    if (id == 0) {
      auto last = last_job(client);
      if (!last) return last.error();
      id = *last;
    }
    chosen.jobs.push_back({id, std::move(job.labels)});
  }
  return chosen;
}

}  // namespace

Result<Chosen> choose(Client& client, std::string_view selector) {
  auto selected = parse_selector(selector);
  if (!selected) return selected.error();
  return look_up(client, *std::move(selected), selector);
}

Result<std::set<std::uint64_t>> present_jobs(Client& client, std::vector<std::uint64_t> ids) {
  std::set<std::uint64_t> present;
  std::sort(ids.begin(), ids.end(), std::greater<>());
  for (auto next = ids.begin(); next != ids.end();) {
    const auto left = static_cast<std::uint64_t>(ids.end() - next);
    auto answer = client.request(
        "GET",
        fmt::format("/v1/jobs?limit={}&before={}", std::min<std::uint64_t>(left, 1000), *next + 1),
        {});
    if (!answer) return answer.error();
    const std::vector<JobView> page = job_views(*answer);
    if (page.empty()) break;
    for (const JobView& job : page) present.insert(job.id);
    next = std::find_if(next, ids.end(), [&](std::uint64_t id) { return id < page.back().id; });
  }
  return present;
}

Result<ChosenJob> choose_one(Client& client, std::string_view selector) {
  auto selected = parse_selector(selector);
  if (!selected) return selected.error();
  if (selected->all || selected->jobs.size() != 1 || selected->jobs[0].labels.size() > 1) {
    return invalid_input(
        fmt::format("{} names several; this verb takes one job, or one task such as "
                    "12.3",
                    shown(selector)));
  }
  auto chosen = look_up(client, *std::move(selected), selector);
  if (!chosen) return chosen.error();
  return std::move(chosen->jobs[0]);
}

Result<boost::json::value> fetch_task(Client& client, std::uint64_t job, std::int64_t label) {
  auto answer =
      client.request("GET", fmt::format("/v1/jobs/{}/tasks?from={}&limit=1", job, label), {});
  if (!answer) return answer.error();
  auto* tasks = answer->as_object().if_contains("tasks");
  if (tasks != nullptr && tasks->is_array() && !tasks->as_array().empty() &&
      integer_at(tasks->as_array()[0], "task") == label) {
    return std::move(tasks->as_array()[0]);
  }
  return not_found(fmt::format("job {} has no task {}", job, label));
}

Result<std::vector<std::uint64_t>> job_ids(Client& client, std::string_view states) {
  std::vector<std::uint64_t> ids;
  std::string before;
  while (true) {
    auto answer =
        client.request("GET", fmt::format("/v1/jobs?state={}&limit=1000{}", states, before), {});
    if (!answer) return answer.error();
    for (const JobView& job : job_views(*answer)) ids.push_back(job.id);
    const auto next = integer_at(*answer, "next_before");
    if (!next) return ids;
    before = fmt::format("&before={}", *next);
  }
}

}  // namespace tutti
