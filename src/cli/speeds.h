#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "core/speed/speed_table.h"

namespace tutti {

// The table of speeds in a file ("-": stdin), JSON or CSV. Errors begin with the file and the line.
Result<SpeedTable> speeds_of_file(const std::string& path);
// Likewise of a text that was read from there.
Result<SpeedTable> speeds_of_text(const std::string& path, const std::string& text);
// The daemon's.
Result<SpeedTable> speeds_of_daemon(Session& session);
// What GPUs the daemon's nodes have: equal nodes together.
Result<std::vector<DeviceShape>> gpus_of_daemon(Session& session);

}  // namespace tutti
