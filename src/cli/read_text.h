#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace tutti {

// The whole text of a file; "-" is stdin. At most `most` bytes.
Result<std::string> read_text(const std::string& path, std::size_t most);

}  // namespace tutti
