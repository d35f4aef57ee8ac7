#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// Parts that the JSON of a job and of its workers have in common. Errors begin with the field.

// The text of a field of core/spec/field.h. A number is as good, unless the field is one of text.
Result<std::string> scalar_from_json(std::string_view field, const boost::json::value& value);
// A line for the shell, or an array of words.
Result<void> read_command(const boost::json::value& value, Command& command);
// An object of names and values, or an array of NAME=value.
Result<void> read_variables(std::string_view field, const boost::json::value& value,
                            std::vector<std::string>& variables);

// So many thousandths as a number of wholes.
boost::json::value thousandths(std::int64_t milli);
boost::json::array texts_to_json(const std::vector<std::string>& words, std::size_t first = 0);
// An object where it can hold the same, that is if every name is UTF-8 and stands once.
boost::json::value env_to_json(const std::vector<std::string>& env);
boost::json::value command_to_json(const Command& command);
void put_request(const Request& request, boost::json::object& out);

}  // namespace tutti
