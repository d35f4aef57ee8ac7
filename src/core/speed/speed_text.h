#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/speed/speed_table.h"

// The texts of a table of speeds: names of columns (rows are those of parse_model_run), and CSV.
// Parsers are strict; the format is described in docs/user/large-models.md.
namespace tutti {

inline constexpr std::uint32_t kMostShapeNodes = 100'000;
inline constexpr double kMostIterationSeconds = 1e7;

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
