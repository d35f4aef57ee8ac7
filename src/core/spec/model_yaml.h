#pragma once

#include "core/model/job_spec.h"
#include "core/spec/yaml_fields.h"

namespace tutti {

// `configurations:` of a job: a list, or one text with commas.
Result<void> read_configurations(const YamlReader& reader, const YamlNode& value, JobSpec& into);

// `model:` of a job: a mapping with name, params and batch, or one text.
Result<void> read_model(const YamlReader& reader, const YamlNode& value, JobSpec& into);

}  // namespace tutti
