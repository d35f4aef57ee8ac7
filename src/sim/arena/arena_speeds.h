#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/elastic/view.h"
#include "sim/arena/trace.h"

namespace tutti {

// How fast a job of an Arena trace is in one shape.
struct ArenaSpeed {
  Shape shape;
  double samples_per_s = 0;  // as the benchmark reports it: three decimals
  double iteration_s = 0;    // likewise
};

// The measured iteration times of an Arena database, and the benchmark's rules for what it lacks.
// A value.
class ArenaSpeeds {
 public:
  // From the JSON of a database: {"optimal": {MODEL_SIZE_BATCH: {SHAPE: seconds}}} with shapes such
  // as 2_a100_2_n_4_d; not positive: does not run. Errors say FILE:LINE.
  static Result<ArenaSpeeds> parse(std::string_view text, const std::string& file_name);

  // So many devices as the benchmark lays them out: on one node, or on as many full nodes as it
  // takes.
  std::optional<ArenaSpeed> usual(const ArenaJob& job, const std::vector<Pool>& pools,
                                  std::uint32_t pool, std::uint32_t devices) const;
  // Every shape that the job runs in: of each pool and number of devices (powers of two) the
  // fastest; what `job` asks for is always laid out as usual. In the order of pool and devices.
  std::vector<ArenaSpeed> all(const ArenaJob& job, const std::vector<Pool>& pools) const;

 private:
  struct Key {
    std::string type;
    std::uint32_t nodes = 0;
    std::uint32_t per_node = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Times = std::map<Key, double>;
  static Result<Key> parse_key(std::string_view text);
  std::optional<double> time(const ArenaJob& job, std::string_view size, const Key& key) const;
  void add_measured(const ArenaJob& job, const std::vector<Pool>& pools,
                    std::vector<ArenaSpeed>& speeds) const;

  std::map<std::string, Times, std::less<>> times_;
};

// Reads the JSON of a cluster: [{TYPE: {"node_num": N}}] with the types a100 (4 GPUs per node),
// v100 (16), a40 (2) and a10 (2). Errors say FILE:LINE.
Result<std::vector<Pool>> parse_arena_cluster(std::string_view text, const std::string& file_name);

}  // namespace tutti
