#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/speed/speed_table.h"

// The texts of a table of speeds: sizes of models, names of rows and columns, CSV. Parsers are
// strict; the format is described in docs/user/large-models.md.
namespace tutti {

inline constexpr std::uint64_t kMostParameters = 1'000'000'000'000'000;
inline constexpr std::uint64_t kMostBatch = 1'000'000'000;
inline constexpr std::uint32_t kMostShapeNodes = 100'000;
inline constexpr std::uint32_t kMostShapeDevices = 1'024;  // of a node
inline constexpr double kMostIterationSeconds = 1e7;

// "1.3B", "760M", "70000K", "1300000000"; K, M, B (or G) and T in either case.
Result<std::uint64_t> parse_parameters(std::string_view text);
// The shortest of these that is exact: "1.3B", "760M".
std::string format_parameters(std::uint64_t parameters);

// A model's name: letters, digits, '_', '-', '.'; it begins with a letter or digit.
Result<void> check_model_name(std::string_view name);
Result<std::uint64_t> parse_batch(std::string_view text);

// "bert_1.3B_128": a model run.
Result<ModelRun> parse_row_name(std::string_view text);
std::string row_name(const ModelRun& run);

// "2_a100_2_n_4_d": two nodes, four devices of this type on each. The number of nodes stands twice.
Result<DeviceShape> parse_column_name(std::string_view text);
std::string column_name(const DeviceShape& shape);

// Seconds of an iteration; zero and less mean that it does not fit.
Result<Speed> speed_of_seconds(double seconds);

// A table of text: the header of kSpeedHeader, then a line for each cell; seconds of -1 mean that
// it does not fit. The error begins with the line's number.
inline constexpr std::string_view kSpeedHeader =
    "model,parameters,batch,type,nodes,devices_per_node,seconds";
Result<SpeedTable> parse_speed_csv(std::string_view text);
std::string speed_csv(const SpeedTable& table);

}  // namespace tutti
