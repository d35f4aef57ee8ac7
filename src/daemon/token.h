#pragma once

#include <string>

#include "base/result.h"

namespace tutti {

// The secret that TCP clients must show: the first line of the file. A missing file is created with
// a random secret, readable by the user alone; one that others can read is refused.
Result<std::string> read_or_make_token(const std::string& path);

}  // namespace tutti
