#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/model/profile.h"

namespace tutti {

// docs/api/openapi.yaml, schema Profile: all of it, with some derived numbers for people.
boost::json::object profile_to_json(const std::string& kind, const Profile& profile);

// The profiles of {"version": 1, "profiles": [...]}. Strict; derived numbers are not looked at.
Result<std::vector<std::pair<std::string, std::optional<Profile>>>> profiles_from_json(
    std::string_view body);

}  // namespace tutti
