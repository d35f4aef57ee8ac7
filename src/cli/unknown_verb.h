#pragma once

#include <string_view>

#include "base/result.h"

namespace tutti {

// The usage error for a word that is no verb, with the nearest one.
Error unknown_verb(std::string_view word);

}  // namespace tutti
