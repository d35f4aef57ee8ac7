#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/results.h"

namespace tutti {

// Text as a JSON string. What is not UTF-8 becomes the replacement character.
std::string json_string(std::string_view text);
// A number as JSON, as short as it can be read back; null for what is none.
std::string json_number(double number);

using TextSink = std::function<void(std::string_view)>;

// {"policy": …, "workload": …, "jobs": […], "notes": […], "summary": {…}}, in pieces.
void write_run_json(const RunResult& run, const Summary& summary, const TextSink& out);
// The summary alone.
std::string summary_json(const Summary& summary, bool timed);

}  // namespace tutti
