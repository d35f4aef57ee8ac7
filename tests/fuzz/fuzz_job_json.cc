// Job objects and batches in JSON: whatever the text, an answer or an error of one line.
// Invariants: what is read and written again is read as the same; the same text gives the same
// answer; lines of a batch are never empty and hold no NUL.

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/validate.h"
#include "wire/batch_json.h"
#include "wire/job_json.h"
#include "wire/text_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view pattern : {"", "run {a} --b={b} {c}"}) {
    const auto lines = lines_from_json(text, pattern);
    if (!lines) {
      TUTTI_CHECK(!lines.error().message.empty());
      continue;
    }
    for (const std::string& line : *lines) {
      TUTTI_CHECK(!line.empty() && line.find('\0') == std::string::npos);
    }
  }
  const auto value = parse_json(text);
  if (!value) {
    TUTTI_CHECK(value.error().message.starts_with("JSON: "));
    return 0;
  }
  TUTTI_CHECK(parse_json(json_text(*value)).has_value());
  auto spec = spec_from_json(*value);
  if (!spec) {
    TUTTI_CHECK(is_utf8(spec.error().message));
    TUTTI_CHECK(spec.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const auto written = parse_json(json_text(spec_to_json(*spec, true)));
  TUTTI_CHECK(written.has_value());
  const auto again = spec_from_json(*written);
  TUTTI_CHECK(again.has_value());
  TUTTI_CHECK(*again == *spec);
  fill_defaults(*spec);
  static_cast<void>(validate(*spec));
  return 0;
}
