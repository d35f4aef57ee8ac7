// Tables of speeds, as JSON and as CSV, and lists of GPUs. Invariants: what is read is written and
// read again as the same; an error is one line that begins with the number of one.

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/model_text.h"
#include "core/speed/iteration_times.h"
#include "core/speed/plan_cells.h"
#include "core/speed/speed_text.h"
#include "wire/speed_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(looks_like_speeds(text));
  static_cast<void>(memory_in_type(text));
  if (const auto settled = settled_time(parse_iteration_times(text))) TUTTI_CHECK(*settled > 0);
  if (const auto configurations = parse_configurations(text))
    TUTTI_CHECK(*parse_configurations(format_configurations(*configurations)) == *configurations);
  if (const auto shapes = parse_device_shapes(text)) {
    for (const DeviceShape& shape : *shapes) TUTTI_CHECK(parse_column_name(column_name(shape)));
  }
  if (const auto parameters = parse_parameters(text))
    TUTTI_CHECK(*parse_parameters(format_parameters(*parameters)) == *parameters);
  const auto table = read_speeds(text);
  if (!table) {
    TUTTI_CHECK(table.error().message.starts_with("line "));
    TUTTI_CHECK(table.error().message.find('\n') == std::string::npos);
    return 0;
  }
  TUTTI_CHECK(*read_speeds(speeds_text(*table)) == *table);
  TUTTI_CHECK(*read_speeds(speed_csv(*table)) == *table);
  return 0;
}
