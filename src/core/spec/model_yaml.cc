#include "core/spec/model_yaml.h"

#include "core/spec/field.h"
#include "core/spec/model_text.h"

namespace tutti {
namespace {

constexpr YamlField<ModelRun> kModelFields[] = {
    {"name", [](const YamlReader& reader, const YamlNode& item,
                ModelRun& run) { return reader.keep(reader.text(item, "name"), run.name); }},
    {"params",
     [](const YamlReader& reader, const YamlNode& item, ModelRun& run) {
       return reader.store(item, parse_parameters(item.text), run.parameters);
     }},
    {"batch", [](const YamlReader& reader, const YamlNode& item,
                 ModelRun& run) { return reader.store(item, parse_batch(item.text), run.batch); }},
};

Result<void> with_place(const YamlReader& reader, const YamlNode& value, const Result<void>& done) {
  return done ? done : Result<void>(reader.error(value, done.error().message));
}

}  // namespace

Result<void> read_configurations(const YamlReader& reader, const YamlNode& value, JobSpec& into) {
  std::string text = value.text;
  if (value.kind != YamlNode::Kind::kText) {
    const auto list = reader.texts(value, "configurations");
    if (!list) return list.error();
    for (const std::string& one : *list) text += (text.empty() ? "" : ",") + one;
  }
  return with_place(reader, value, set_field(into, "configurations", text));
}

Result<void> read_model(const YamlReader& reader, const YamlNode& value, JobSpec& into) {
  if (value.kind == YamlNode::Kind::kText)
    return with_place(reader, value, set_field(into, "model", value.text));
  const auto done = read_fields<ModelRun>(reader, value, "model", kModelFields, into.model);
  if (!done) return done;
  return with_place(reader, value, check_model_run(into.model));
}

}  // namespace tutti
