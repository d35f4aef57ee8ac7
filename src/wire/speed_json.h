#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/speed/speed_table.h"

namespace tutti {

// A table of speeds as JSON: {"optimal": {"bert_1.3B_128": {"2_a100_2_n_4_d": 5.5}}}, seconds of an
// iteration; -1 (and every number that is not positive) means that it does not fit. The name of
// a cell with definite stages ends in them: "2_a100_2_n_4_d_2_s". Other members are refused. Errors
// name the cell.
Result<SpeedTable> speeds_from_json(const boost::json::value& value);
boost::json::value speeds_to_json(const SpeedTable& table);

// The table in a text: JSON as above, or CSV (see parse_speed_csv). Errors begin with the line.
Result<SpeedTable> read_speeds(std::string_view text);
// Whether a text is meant to be such a table: by how it begins.
bool looks_like_speeds(std::string_view text);
// The table as JSON text with a line for each cell.
std::string speeds_text(const SpeedTable& table);

}  // namespace tutti
