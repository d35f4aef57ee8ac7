#pragma once

#include <string_view>

namespace tutti {

// Whether two secrets are equal, in a time that does not tell where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace tutti
