#include "sim/arena/arena.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/elastic/policies.h"
#include "core/spec/text.h"
#include "sim/csv_table.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

fs::path arena_folder(const std::string& data) {
  std::error_code ignored;
  const fs::path inside = fs::path(data) / "arena";
  return fs::is_directory(inside, ignored) ? inside : fs::path(data);
}

// A job that asks for what the cluster never has would wait for ever.
std::optional<Error> asks_for_nothing_here(const std::vector<ArenaJob>& trace,
                                           const std::vector<Pool>& pools) {
  for (const ArenaJob& job : trace) {
    const auto same = [&](const Pool& pool) { return pool.type == job.type; };
    if (std::none_of(pools.begin(), pools.end(), same))
      return invalid_input("job " + shown(job.name) + " asks for GPUs of type " + shown(job.type) +
                           ", which the cluster does not have");
  }
  return std::nullopt;
}

// Reads a file and parses it.
template <typename Parse>
auto read_as(const std::string& path, Parse parse)
    -> decltype(parse(std::string_view(), std::string())) {
  const auto text = read_whole_file(path);
  if (!text) return text.error();
  return parse(*text, path);
}

}  // namespace

Result<RunResult> run_arena(const ArenaOptions& options) {
  const fs::path folder = arena_folder(options.data);
  const ElasticTraits* traits = find_elastic_policy(options.policy);
  if (traits == nullptr) return unknown_elastic_policy(options.policy, false);
  if (traits->per_step)
    return invalid_input("the policy '" + options.policy +
                         "' knows one type of device only: it is for pollux-64");
  const auto policy = make_elastic_policy(options.policy);
  auto pools = read_as((folder / "sim_cluster_spec.json").string(), parse_arena_cluster);
  if (!pools) return pools.error();
  auto speeds = read_as((folder / "prof_database.json").string(), ArenaSpeeds::parse);
  if (!speeds) return speeds.error();
  const auto trace = read_as(options.workload, parse_arena_trace);
  if (!trace) return trace.error();
  if (const auto error = asks_for_nothing_here(*trace, *pools)) return *error;
  const bool fifo = options.policy == "fifo";
  ArenaRounds rounds(std::move(*pools), std::move(*speeds), *policy,
                     {.rounds = options.rounds,
                      .cost = options.restart_cost,
                      // Its published results rest on where it puts jobs, too.
                      .placing = fifo ? Placing::kFirstCome : Placing::kPacked,
                      .length = options.length,
                      .seed = options.seed});
  RunResult run = rounds.run(*trace);
  run.policy = options.policy;
  run.workload = fs::path(options.workload).filename().string();
  return run;
}

}  // namespace tutti
