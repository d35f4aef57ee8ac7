#include "cli/select.h"

#include <fmt/format.h>

#include <boost/json.hpp>

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

}  // namespace

Result<Chosen> choose(Client& client, std::string_view selector) {
  auto parsed = parse_selector(selector);
  if (!parsed) return parsed.error();
  Chosen chosen;
  chosen.all = parsed->all;
  for (SelectedJob& job : parsed->jobs) {
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

Result<ChosenJob> choose_one(Client& client, std::string_view selector) {
  auto chosen = choose(client, selector);
  if (!chosen) return chosen.error();
  if (chosen->all || chosen->jobs.size() != 1 || chosen->jobs[0].labels.size() > 1) {
    return invalid_input(
        fmt::format("{} names several; this verb takes one job, or one task such as "
                    "12.3",
                    shown(selector)));
  }
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
