#pragma once

#include <vector>

#include "core/model/container.h"
#include "core/model/gang.h"
#include "core/spec/yaml_fields.h"

namespace tutti {

// `workers:` of a job file: a list of groups, a mapping of their names to them, or a number of
// equal workers. Each group begins with what the job says for all, `request`.
Result<std::vector<WorkerGroup>> read_workers(const YamlReader& reader, const YamlNode& value,
                                              const Request& request);

// `container:` of a job file: the name of an image, or a mapping.
Result<void> read_container(const YamlReader& reader, const YamlNode& value, Container& into);

}  // namespace tutti
