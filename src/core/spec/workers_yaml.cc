#include "core/spec/workers_yaml.h"

#include "core/spec/field.h"
#include "core/spec/quantity.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

using Kind = YamlNode::Kind;

Result<void> read_labels(const YamlReader& reader, const YamlNode& value, WorkerGroup& group) {
  const auto labels = reader.texts(value, "labels");
  if (!labels) return labels.error();
  auto& all = group.ranks.request.labels;
  all.insert(all.end(), labels->begin(), labels->end());
  return {};
}

Result<void> read_group_field(const YamlReader& reader, const YamlNode& key, const YamlNode& value,
                              WorkerGroup& group) {
  const std::string& name = key.text;
  if (name == "command") return reader.keep(reader.command(value), group.command);
  if (name == "env") return reader.keep(reader.variables(value, "env"), group.env);
  if (name == "labels") return read_labels(reader, value, group);
  std::vector<std::string_view> known(worker_fields().begin(), worker_fields().end());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    known.insert(known.end(), {"command", "env", "labels"});
    return reader.unknown(key, "workers", known);
  }
  if (value.kind != Kind::kText) return reader.wrong_kind(value, name, "one value");
  const Result<void> stored = set_worker_field(group, name, value.text);
  return stored ? stored : reader.error(value, stored.error().message);
}

// A number of workers, or a mapping.
Result<void> read_group(const YamlReader& reader, const YamlNode& value, WorkerGroup& group) {
  if (value.kind == Kind::kText)
    return reader.store(value, parse_count("workers", value.text, 1, kMaxRanks), group.ranks.count);
  if (value.kind != Kind::kMap)
    return reader.wrong_kind(value, "a group of workers", "fields such as 'count: 4'");
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const auto done = read_group_field(reader, value.keys[i], value.items[i], group);
    if (!done) return done;
  }
  return {};
}

constexpr YamlField<ImageBuild> kBuildFields[] = {
    {"dockerfile",
     [](const YamlReader& reader, const YamlNode& value, ImageBuild& into) {
       return reader.keep(reader.text(value, "dockerfile"), into.dockerfile);
     }},
    {"context",
     [](const YamlReader& reader, const YamlNode& value, ImageBuild& into) {
       return reader.keep(reader.text(value, "context"), into.context);
     }},
    {"target",
     [](const YamlReader& reader, const YamlNode& value, ImageBuild& into) {
       return reader.keep(reader.text(value, "target"), into.target);
     }},
    {"args",
     [](const YamlReader& reader, const YamlNode& value, ImageBuild& into) {
       return reader.keep(reader.variables(value, "args"), into.args);
     }},
};

Result<void> read_image(const YamlReader& reader, const YamlNode& value, Container& into) {
  const auto image = reader.text(value, "image");
  if (!image) return image.error();
  if (!into.image.empty() && into.image != *image)
    return reader.error(value, "image is given twice; keep one");
  into.image = *image;
  return {};
}

constexpr YamlField<Container> kContainerFields[] = {
    {"image", read_image},
    {"runtime",
     [](const YamlReader& reader, const YamlNode& value, Container& into) {
       return reader.keep(reader.text(value, "runtime"), into.runtime);
     }},
    {"build",
     [](const YamlReader& reader, const YamlNode& value, Container& into) {
       into.build.dockerfile = "Dockerfile";
       into.build.context = ".";
       return read_fields<ImageBuild>(reader, value, "build", kBuildFields, into.build);
     }},
    {"mounts",
     [](const YamlReader& reader, const YamlNode& value, Container& into) {
       return reader.keep(reader.texts(value, "mounts"), into.mounts);
     }},
};

}  // namespace

Result<std::vector<WorkerGroup>> read_workers(const YamlReader& reader, const YamlNode& value,
                                              const Request& request) {
  if (value.kind == Kind::kNull || (value.kind != Kind::kText && value.items.empty()))
    return reader.error(value, "workers is empty; write such as 'workers: 4'");
  std::vector<WorkerGroup> groups;
  if (value.kind == Kind::kText) {
    groups.push_back(new_worker_group(request));
    const auto done = read_group(reader, value, groups.back());
    if (!done) return done.error();
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    groups.push_back(new_worker_group(request));
    const auto done = read_group(reader, value.items[i], groups.back());
    if (!done) return done.error();
    if (value.kind != Kind::kMap) continue;
    if (groups.back().name != WorkerGroup().name && groups.back().name != value.keys[i].text)
      return reader.error(value.keys[i], "the group has a name already; drop the other");
    groups.back().name = value.keys[i].text;
  }
  return groups;
}

Result<void> read_container(const YamlReader& reader, const YamlNode& value, Container& into) {
  if (value.kind == Kind::kText) return read_image(reader, value, into);
  return read_fields<Container>(reader, value, "container", kContainerFields, into);
}

}  // namespace tutti
