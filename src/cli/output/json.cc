#include "cli/output/json.h"

#include <boost/json.hpp>

#include "base/check.h"
#include "wire/text_json.h"

namespace tutti {

void print_json(Screen& screen, const boost::json::value& value) {
  TUTTI_CHECK(value.is_object());
  boost::json::object out;
  out["api"] = 1;
  for (const auto& member : value.as_object()) out[member.key()] = member.value();
  screen.out(json_text(out) + "\n");
}

}  // namespace tutti
