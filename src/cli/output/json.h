#pragma once

#include <boost/json/fwd.hpp>

#include "cli/output/screen.h"

namespace tutti {

// Prints one object on one line, with "api": 1 as its first member: the number changes when the
// meaning of a member does.
void print_json(Screen& screen, const boost::json::value& value);

}  // namespace tutti
