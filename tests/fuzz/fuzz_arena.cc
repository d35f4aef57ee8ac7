// The files of the benchmark Arena-1280: trace, iteration times and cluster. Invariants: an error
// is one line that begins with the file's name; what is read can be simulated for a few rounds, and
// what runs then fits the cluster.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "core/elastic/policies.h"
#include "sim/arena/rounds.h"

namespace {

using namespace tutti;

template <typename T>
void check_read(const Result<T>& read) {
  if (read) return;
  TUTTI_CHECK(read.error().message.starts_with("f:"));
  TUTTI_CHECK(read.error().message.find('\n') == std::string::npos);
}

constexpr const char* kTimes = R"({"optimal": {"bert_1.3B_128": {
  "1_a100_1_n_1_d": 7, "1_a100_1_n_4_d": 2, "2_v100_2_n_8_d": 1}}})";

void simulate(const std::vector<ArenaJob>& trace, ArenaSpeeds speeds) {
  const std::vector<Pool> pools{{"a100", 2, 4}, {"v100", 2, 16}};
  const auto policy = make_elastic_policy("cells");
  ArenaRounds rounds(pools, std::move(speeds), *policy, {.rounds = 4});
  for (const ClusterSample& sample : rounds.run(trace).samples)
    TUTTI_CHECK(sample.devices_used + sample.devices_stranded <= 40);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_read(parse_arena_cluster(text, "f"));
  auto speeds = ArenaSpeeds::parse(text, "f");
  check_read(speeds);
  if (speeds) {
    ArenaJob job{"a", 0, 50, "bert", "1.3B", 0, 128, 4, "a100"};
    simulate({job}, std::move(*speeds));
  }
  const auto trace = parse_arena_trace(text, "f");
  check_read(trace);
  auto times = ArenaSpeeds::parse(kTimes, "times");
  TUTTI_CHECK(times);
  if (trace) simulate(*trace, std::move(*times));
  return 0;
}
