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
// Likewise with the stages of a cell, if they are definite: "2_a100_2_n_4_d_2_s". The run of the
// cell that is read is empty.
Result<SpeedCell> parse_cell_name(std::string_view text);
std::string cell_name(const SpeedCell& cell);

// Seconds of an iteration; zero and less mean that it does not fit.
Result<Speed> speed_of_seconds(double seconds);

// "2.96s" with three digits, "523ms", "1234s".
std::string iteration_text(double seconds);

// A table of text: the header of kSpeedHeader, then a line for each cell; seconds of -1 mean that
// it does not fit. With kStagedHeader there is a column more, empty where stages are not definite;
// it is written if some are. Cells may stand in quotes. The error begins with the line's number.
inline constexpr std::string_view kSpeedHeader =
    "model,parameters,batch,type,nodes,devices_per_node,seconds";
inline constexpr std::string_view kStagedHeader =
    "model,parameters,batch,type,nodes,devices_per_node,seconds,stages";
Result<SpeedTable> parse_speed_csv(std::string_view text);
std::string speed_csv(const SpeedTable& table);

}  // namespace tutti
