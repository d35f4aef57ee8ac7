#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// Parts of validate(), which knows what they are for. Each message begins with `what` or the
// field's name.

// One to 255 bytes of printable UTF-8.
Result<void> check_name(std::string_view what, std::string_view name);
// What Linux takes as one argument or variable.
Result<void> check_argument(const std::string& what, std::string_view text);
// "NAME=value", each.
Result<void> check_env(const std::vector<std::string>& env);
// A command that would be executed with so many bytes of environment.
Result<void> check_words(const Command& command, std::size_t env_bytes);
Result<void> check_request(const Request& request, bool lease);

// The workers of a job, if there are any, and that what only they can have is said of them.
Result<void> check_gang(const JobSpec& spec);
Result<void> check_container(const JobSpec& spec);

// Bytes that variables take when a program is executed.
std::size_t env_bytes(const std::vector<std::string>& env);

}  // namespace tutti
