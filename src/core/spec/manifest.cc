#include "core/spec/manifest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>

#include "core/spec/field.h"
#include "core/spec/manifest_type.h"
#include "core/spec/validate.h"
#include "core/spec/yaml_fields.h"

namespace tutti {
namespace {

using Kind = YamlNode::Kind;

constexpr std::string_view kManifestKind = "AIchorManifest";

// A manifest while it is read: what depends on the operator is put together at the end.
struct Draft {
  Manifest manifest;
  bool has_kind = false;
  bool has_operator = false;
  std::string built_image;
  const YamlNode* image = nullptr;
  const YamlNode* spec = nullptr;
  const YamlNode* types = nullptr;
  std::optional<FailureRule> failure;
};

// The types that an operator knows; none: any name will do.
std::span<const std::string_view> types_of(Framework framework) {
  static constexpr std::array<std::string_view, 5> kTf = {"Worker", "PS", "Chief", "Master",
                                                          "Evaluator"};
  static constexpr std::array<std::string_view, 2> kWithMaster = {"Master", "Worker"};
  static constexpr std::array<std::string_view, 1> kWorker = {"Worker"};
  static constexpr std::array<std::string_view, 2> kRay = {"Head", "Workers"};
  static constexpr std::array<std::string_view, 2> kMpi = {"Launcher", "Worker"};
  switch (framework) {
    case Framework::kTensorflow:
      return kTf;
    case Framework::kPytorch:
    case Framework::kXgboost:
      return kWithMaster;
    case Framework::kJax:
      return kWorker;
    case Framework::kRay:
      return kRay;
    case Framework::kMpi:
      return kMpi;
    case Framework::kJobset:
    case Framework::kNone:
      break;
  }
  return {};
}

// The one that the others look to: it comes first, and there is one of it.
bool is_leader(std::string_view type) {
  return type == "Chief" || type == "Master" || type == "Head" || type == "Launcher";
}

bool same_word(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

// The name of a type as its operator writes it.
Result<std::string> type_name(const YamlReader& reader, const YamlNode& key, Framework framework) {
  const auto known = types_of(framework);
  if (known.empty()) return reader.text(key, "a type's name");
  for (const std::string_view name : known) {
    if (same_word(name, key.text)) return std::string(name);
  }
  std::string list;
  for (const std::string_view name : known) list += (list.empty() ? "" : ", ") + std::string(name);
  return reader.error(key, "unknown type " + shown(key.text) + did_you_mean(key.text, known) +
                               " (operator " + framework_name(framework) + " has " + list + ")");
}

Result<std::vector<ManifestType>> read_types(const YamlReader& reader, const YamlNode& map,
                                             Framework framework) {
  if (map.kind != Kind::kMap || map.keys.empty())
    return reader.error(map, "types must name at least one type, such as Worker");
  std::vector<ManifestType> types;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const auto name = type_name(reader, map.keys[i], framework);
    if (!name) return name.error();
    if (std::find(names.begin(), names.end(), *name) != names.end())
      return reader.error(map.keys[i], "type " + *name + " is given twice; keep one");
    const auto leader = std::find_if(names.begin(), names.end(), is_leader);
    if (framework == Framework::kTensorflow && is_leader(*name) && leader != names.end())
      return reader.error(map.keys[i], *leader + " and " + *name + " are the same; keep one");
    names.push_back(*name);
    YamlNode key = map.keys[i];
    key.text = *name;
    const bool list = framework == Framework::kRay && map.items[i].kind == Kind::kList;
    const auto items = list ? std::span(map.items[i].items) : std::span(&map.items[i], 1);
    if (items.empty()) return reader.error(key, *name + " is an empty list; leave it out");
    for (std::size_t j = 0; j < items.size(); ++j) {
      YamlNode own = key;
      if (items.size() > 1) own.text += "-" + std::to_string(j + 1);
      auto type = read_manifest_type(reader, own, items[j]);
      if (!type) return type.error();
      if (!list && type->group.name != own.text)
        return reader.error(key, *name + ": only the Workers of Ray, a list, have a name");
      types.push_back(*std::move(type));
    }
  }
  std::stable_partition(types.begin(), types.end(),
                        [](const ManifestType& type) { return is_leader(type.group.name); });
  return types;
}

Result<void> check_type(const YamlReader& reader, const ManifestType& type, Framework framework,
                        const std::string& image) {
  const bool job_set = framework == Framework::kJobset;
  const std::string& name = type.group.name;
  if (!job_set && (type.completions || type.parallelisms)) {
    return reader.error(type.place, name +
                                        ": completions and parallelisms are for the operators "
                                        "jobset and batchjob; drop them");
  }
  if (type.parallelisms.value_or(1) > type.completions.value_or(1))
    return reader.error(type.place, name + ": parallelisms is more than completions");
  if (!job_set && is_leader(name) && type.count != 1)
    return reader.error(type.place, name + ": there is one of it; drop its count");
  if (!type.image.empty() && type.image != image) {
    return reader.error(type.place, name + ": image " + shown(type.image) +
                                        " is not the manifest's; all workers run in one image");
  }
  return {};
}

// One group for each type; of a job set, one for each of its jobs.
Result<void> add_groups(const YamlReader& reader, const ManifestType& type, Draft& draft) {
  Gang& gang = draft.manifest.spec.gang;
  const bool job_set = gang.framework == Framework::kJobset;
  WorkerGroup group = type.group;
  group.ranks.count = job_set ? type.completions.value_or(1) : type.count;
  if (job_set) group.ranks.parallel = type.parallelisms.value_or(1);
  group.ranks.failure = type.failure.value_or(draft.failure.value_or(FailureRule()));
  const std::uint32_t replicas = job_set ? type.count : 1;
  std::uint64_t ranks = std::uint64_t{replicas} * group.ranks.count;
  for (const WorkerGroup& other : gang.workers) ranks += other.ranks.count;
  if (ranks > kMaxRanks) {
    return reader.error(type.place, type.group.name + ": " + std::to_string(ranks) +
                                        " workers in all; at most " + std::to_string(kMaxRanks) +
                                        " are allowed");
  }
  for (group.replica = 0; group.replica < replicas; ++group.replica) gang.workers.push_back(group);
  return {};
}

constexpr YamlField<Draft> kBuilderFields[] = {
    {"image",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(reader.text(value, "image"), into.built_image);
     }},
    {"dockerfile",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(reader.text(value, "dockerfile"),
                          into.manifest.spec.container.build.dockerfile);
     }},
    {"context",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(reader.text(value, "context"),
                          into.manifest.spec.container.build.context);
     }},
    {"target",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(reader.text(value, "target"), into.manifest.spec.container.build.target);
     }},
    {"buildArgs",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(reader.variables(value, "buildArgs"),
                          into.manifest.spec.container.build.args);
     }},
};

Result<void> read_builder(const YamlReader& reader, const YamlNode& value, Draft& into) {
  ImageBuild& build = into.manifest.spec.container.build;
  build.dockerfile = "Dockerfile";
  build.context = ".";
  const auto done = read_fields<Draft>(reader, value, "builder", kBuilderFields, into);
  if (!done) return done;
  if (into.built_image.empty())
    return reader.error(value, "builder has no image; name the image that it makes");
  return {};
}

constexpr YamlField<bool> kTensorboardFields[] = {
    {"enabled", [](const YamlReader& reader, const YamlNode& value,
                   bool& into) { return reader.keep(reader.truth(value, "enabled"), into); }},
};

Result<void> read_tensorboard(const YamlReader& reader, const YamlNode& value, Draft& into) {
  bool enabled = false;
  const auto done = read_fields<bool>(reader, value, "tensorboard", kTensorboardFields, enabled);
  if (done && enabled)
    into.manifest.notes.emplace_back("tensorboard has no effect: start one beside the job");
  return done;
}

Result<void> read_storage(const YamlReader& reader, const YamlNode& value, Draft& into) {
  if (value.kind != Kind::kMap) return reader.wrong_kind(value, "storage", "a mapping");
  if (!value.keys.empty()) {
    into.manifest.notes.emplace_back(
        "storage has no effect: workers see the manifest's folder, and no other volume");
  }
  return {};
}

Result<void> read_operator(const YamlReader& reader, const YamlNode& value, Draft& into) {
  const auto text = reader.text(value, "operator");
  if (!text) return text.error();
  const auto framework = parse_framework(*text);
  if (!framework) return reader.error(value, "operator: " + framework.error().message);
  into.manifest.spec.gang.framework = *framework;
  into.has_operator = true;
  return {};
}

constexpr YamlField<Draft> kSpecFields[] = {
    {"operator", read_operator},
    {"image",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       into.image = &value;
       return reader.keep(reader.text(value, "image"), into.manifest.spec.container.image);
     }},
    {"command",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(read_manifest_command(reader, value), into.manifest.spec.command);
     }},
    {"types",
     [](const YamlReader& /*reader*/, const YamlNode& value, Draft& into) {
       into.types = &value;
       return Result<void>();
     }},
    {"tensorboard", read_tensorboard},
    {"storage", read_storage},
    {"env",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(read_manifest_env(reader, value), into.manifest.spec.env);
     }},
    {"timeout",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       return reader.keep(read_manifest_timeout(reader, value), into.manifest.spec.time_limit);
     }},
    {"failurePolicy",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       const auto text = reader.text(value, "failurePolicy");
       if (!text) return Result<void>(text.error());
       into.failure.emplace();
       return reader.store(value, parse_failure_rule(*text), *into.failure);
     }},
};

constexpr YamlField<Draft> kManifestFields[] = {
    {"kind",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       into.has_kind = true;
       if (value.kind == Kind::kText && value.text == kManifestKind) return Result<void>();
       return Result<void>(reader.error(value, "kind must be " + std::string(kManifestKind) +
                                                   "; a job file has neither apiVersion nor spec"));
     }},
    {"apiVersion",
     [](const YamlReader& reader, const YamlNode& value, Draft& /*into*/) {
       const auto text = reader.text(value, "apiVersion");
       if (!text) return Result<void>(text.error());
       if (text->find_first_not_of("0123456789.v") == text->npos) return Result<void>();
       return Result<void>(
           reader.error(value, "apiVersion " + shown(*text) + ": write a version such as 0.2.1"));
     }},
    {"builder", read_builder},
    {"spec",
     [](const YamlReader& reader, const YamlNode& value, Draft& into) {
       into.spec = &value;
       return read_fields<Draft>(reader, value, "spec", kSpecFields, into);
     }},
};

// The image that the workers run in, if any.
Result<void> finish_image(const YamlReader& reader, Draft& draft) {
  std::string& image = draft.manifest.spec.container.image;
  if (draft.built_image.empty()) return {};
  if (image.empty()) image = draft.built_image;
  if (image == draft.built_image) return {};
  return reader.error(*draft.image, "image " + shown(image) + " is not what builder makes, " +
                                        shown(draft.built_image) +
                                        "; name the same image, or "
                                        "drop builder");
}

Result<void> finish_types(const YamlReader& reader, Draft& draft) {
  JobSpec& spec = draft.manifest.spec;
  const auto types = read_types(reader, *draft.types, spec.gang.framework);
  if (!types) return types.error();
  for (const ManifestType& type : *types) {
    const auto checked = check_type(reader, type, spec.gang.framework, spec.container.image);
    if (!checked) return checked;
    if (spec.command.empty() && type.group.command.empty())
      return reader.error(type.place, type.group.name + " has no command, and spec has none");
    if (const auto added = add_groups(reader, type, draft); !added) return added;
  }
  const bool headless =
      spec.gang.framework == Framework::kRay && types->front().group.name != "Head";
  if (headless) return reader.error(*draft.types, "types has no Head; operator ray needs one");
  return {};
}

// "registry/team/name:tag" is called name.
std::string name_of_image(std::string_view image) {
  const std::string_view last = image.substr(image.rfind('/') + 1);
  return std::string(last.substr(0, last.find_first_of(":@")));
}

}  // namespace

bool is_manifest(const YamlNode& root) {
  if (root.kind != Kind::kMap) return false;
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    const std::string& key = root.keys[i].text;
    if (key == "apiVersion" || key == "spec") return true;
    if (key == "kind" && root.items[i].text == kManifestKind) return true;
  }
  return false;
}

Result<Manifest> read_manifest(const YamlNode& root, const std::string& file_name) {
  const YamlReader reader(file_name);
  Draft draft;
  const auto done = read_fields<Draft>(reader, root, "a manifest", kManifestFields, draft);
  if (!done) return done.error();
  if (!draft.has_kind) return reader.error(root, "no kind; a manifest has 'kind: AIchorManifest'");
  if (draft.spec == nullptr) return reader.error(root, "no spec; it says what runs");
  if (!draft.has_operator)
    return reader.error(*draft.spec, "spec has no operator; write such as 'operator: tf'");
  if (draft.types == nullptr)
    return reader.error(*draft.spec, "spec has no types; write such as 'types: {Worker: …}'");
  if (const auto finished = finish_image(reader, draft); !finished) return finished.error();
  if (const auto finished = finish_types(reader, draft); !finished) return finished.error();
  JobSpec& spec = draft.manifest.spec;
  spec.workdir = ".";
  spec.name = name_of_image(spec.container.image);
  fill_gang(spec);
  return std::move(draft.manifest);
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& file_name) {
  const Result<YamlNode> root = parse_yaml(text, file_name);
  if (!root) return root.error();
  return read_manifest(*root, file_name);
}

}  // namespace tutti
