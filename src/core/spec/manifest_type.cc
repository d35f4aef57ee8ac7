#include "core/spec/manifest_type.h"

#include <array>

#include "core/spec/command_line.h"
#include "core/spec/field.h"
#include "core/spec/gpu_type.h"
#include "core/spec/quantity.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

using Kind = YamlNode::Kind;

constexpr std::int64_t kMostMemoryMib = std::int64_t{1} << 40;
constexpr MilliCpu kMostRatio{1000 * 1000};

// What `resources:` says, before its parts are put together.
struct Resources {
  std::optional<MilliCpu> cpus;
  std::optional<MiB> per_cpu;  // of ramRatio
  std::optional<MiB> memory;
  MiB shared_memory;
  DeviceRequest devices;
  MilliCpu cpu_limit_ratio{2000};  // thousandths
};

// A number of GB without a unit, such as 0.5: GiB, as everywhere here.
Result<MiB> read_gigabytes(const YamlReader& reader, const YamlNode& value, std::string_view field,
                           bool zero_allowed) {
  const auto text = reader.text(value, field);
  if (!text) return text.error();
  const bool plain = text->find_first_not_of("0123456789.") == text->npos;
  const auto size = plain ? parse_memory(*text + "G") : Result<MiB>(invalid_input(""));
  if (!size || (size->value == 0 && !zero_allowed)) {
    return reader.error(
        value, std::string(field) + " " + shown(*text) + ": write a number of GB such as 2 or 0.5");
  }
  return *size;
}

Result<void> read_ram_ratio(const YamlReader& reader, const YamlNode& value, Resources& into) {
  const auto size = read_gigabytes(reader, value, "ramRatio", false);
  if (!size) return size.error();
  into.per_cpu = *size;
  return {};
}

// A bare number is GB, as of ramRatio; or with a unit: "512M", "4Gi".
Result<void> read_memory(const YamlReader& reader, const YamlNode& value, Resources& into) {
  const auto text = reader.text(value, "memory");
  if (!text) return text.error();
  Result<MiB> size = MiB(0);
  if (text->find_first_not_of("0123456789.") == text->npos) {
    size = read_gigabytes(reader, value, "memory", false);
    if (!size) return size.error();
  } else {
    size = parse_memory(text->ends_with('i') ? *text + "B" : *text);
    if (!size) return reader.error(value, size.error().message);
    if (size->value == 0) return reader.error(value, "memory must be more than zero");
  }
  into.memory = *size;
  return {};
}

Result<void> read_count(const YamlReader& reader, const YamlNode& value, std::string_view field,
                        std::uint32_t least, std::uint32_t& into) {
  const auto text = reader.text(value, field);
  if (!text) return text.error();
  return reader.store(value, parse_count(field, *text, least, kMaxRanks), into);
}

constexpr YamlField<DeviceRequest> kGpuFields[] = {
    {"count",
     [](const YamlReader& reader, const YamlNode& value, DeviceRequest& into) {
       return read_count(reader, value, "count", 0, into.count);
     }},
    {"type",
     [](const YamlReader& reader, const YamlNode& value, DeviceRequest& /*into*/) {
       const auto text = reader.text(value, "type");
       if (!text) return Result<void>(text.error());
       if (*text == "gpu") return Result<void>();
       return Result<void>(reader.error(value, "type " + shown(*text) +
                                                   ": whole GPUs are of type gpu; which GPU is "
                                                   "wanted is said by product"));
     }},
    {"product",
     [](const YamlReader& reader, const YamlNode& value, DeviceRequest& into) {
       const auto text = reader.text(value, "product");
       if (!text) return Result<void>(text.error());
       into.type = type_of_product(*text);
       return Result<void>();
     }},
};

constexpr YamlField<Resources> kAcceleratorFields[] = {
    {"gpu",
     [](const YamlReader& reader, const YamlNode& value, Resources& into) {
       const auto done =
           read_fields<DeviceRequest>(reader, value, "accelerators.gpu", kGpuFields, into.devices);
       if (!done) return done;
       if (into.devices.count == 0) {
         into.devices = {};
       } else {
         into.devices.sharing = Sharing::kNever;
       }
       return done;
     }},
};

constexpr YamlField<Resources> kResourceFields[] = {
    {"cpus",
     [](const YamlReader& reader, const YamlNode& value, Resources& into) {
       const auto text = reader.text(value, "cpus");
       if (!text) return Result<void>(text.error());
       into.cpus.emplace();
       return reader.store(value, parse_cpus(*text), *into.cpus);
     }},
    {"cpuLimitRatio",
     [](const YamlReader& reader, const YamlNode& value, Resources& into) {
       const auto text = reader.text(value, "cpuLimitRatio");
       if (!text) return Result<void>(text.error());
       const auto ratio = parse_cpus(*text);
       if (!ratio || text->ends_with('m') || *ratio < MilliCpu(1000) || *ratio > kMostRatio) {
         return Result<void>(reader.error(value, "cpuLimitRatio " + shown(*text) +
                                                     ": write a number from 1 to 1000, such as 2"));
       }
       into.cpu_limit_ratio = *ratio;
       return Result<void>();
     }},
    {"ramRatio", read_ram_ratio},
    {"memory", read_memory},
    {"shmSizeGB",
     [](const YamlReader& reader, const YamlNode& value, Resources& into) {
       return reader.keep(read_gigabytes(reader, value, "shmSizeGB", true), into.shared_memory);
     }},
    {"accelerators",
     [](const YamlReader& reader, const YamlNode& value, Resources& into) {
       return read_fields<Resources>(reader, value, "accelerators", kAcceleratorFields, into);
     }},
};

Result<void> read_resources(const YamlReader& reader, const YamlNode& value, ManifestType& into) {
  Resources resources;
  const auto done = read_fields<Resources>(reader, value, "resources", kResourceFields, resources);
  if (!done) return done;
  if (!resources.cpus) return reader.error(value, "resources has no cpus; write such as 'cpus: 1'");
  if (resources.per_cpu.has_value() == resources.memory.has_value()) {
    return reader.error(value,
                        "resources needs exactly one of ramRatio (GB for each cpu) and "
                        "memory");
  }
  Request& request = into.group.ranks.request;
  request.cpus = *resources.cpus;
  request.limit_cpus = true;
  std::int64_t mib = 0;
  if (resources.memory) {
    mib = resources.memory->value;
  } else if (__builtin_mul_overflow(resources.cpus->value, resources.per_cpu->value, &mib)) {
    mib = kMostMemoryMib * 1001;
  }
  request.memory = MiB(resources.memory ? mib : mib / 1000 + (mib % 1000 == 0 ? 0 : 1));
  if (request.memory.value > kMostMemoryMib)
    return reader.error(value, "cpus × ramRatio is more memory than any machine has");
  request.limit_memory = true;
  request.devices = resources.devices;
  into.group.cpu_limit = MilliCpu(request.cpus.value * resources.cpu_limit_ratio.value / 1000);
  into.group.shared_memory = resources.shared_memory;
  return {};
}

template <std::optional<std::uint32_t> ManifestType::*kMember>
Result<void> read_optional_count(const YamlReader& reader, const YamlNode& value,
                                 std::string_view field, ManifestType& into) {
  std::uint32_t count = 0;
  const auto done = read_count(reader, value, field, 1, count);
  into.*kMember = count;
  return done;
}

constexpr YamlField<ManifestType> kTypeFields[] = {
    {"name",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return reader.keep(reader.text(value, "name"), into.group.name);
     }},
    {"count", [](const YamlReader& reader, const YamlNode& value,
                 ManifestType& into) { return read_count(reader, value, "count", 1, into.count); }},
    {"completions",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return read_optional_count<&ManifestType::completions>(reader, value, "completions", into);
     }},
    {"parallelisms",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return read_optional_count<&ManifestType::parallelisms>(reader, value, "parallelisms", into);
     }},
    {"resources", read_resources},
    {"env",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return reader.keep(read_manifest_env(reader, value), into.group.env);
     }},
    {"timeout",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return reader.keep(read_manifest_timeout(reader, value), into.group.time_limit);
     }},
    {"failurePolicy",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       const auto text = reader.text(value, "failurePolicy");
       if (!text) return Result<void>(text.error());
       into.failure.emplace();
       return reader.store(value, parse_failure_rule(*text), *into.failure);
     }},
    {"command",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return reader.keep(read_manifest_command(reader, value), into.group.command);
     }},
    {"image",
     [](const YamlReader& reader, const YamlNode& value, ManifestType& into) {
       return reader.keep(reader.text(value, "image"), into.image);
     }},
};

}  // namespace

Result<ManifestType> read_manifest_type(const YamlReader& reader, const YamlNode& name,
                                        const YamlNode& value) {
  ManifestType type;
  type.group = new_worker_group({});
  type.group.name = name.text;
  type.place.place = name.place;
  const auto done = read_fields<ManifestType>(reader, value, name.text, kTypeFields, type);
  if (!done) return done.error();
  if (!type.group.ranks.request.limit_cpus)
    return reader.error(name, name.text + " has no resources; give it cpus and ramRatio");
  return type;
}

Result<Command> read_manifest_command(const YamlReader& reader, const YamlNode& value) {
  auto command = reader.command(value);
  if (!command || command->shell.empty()) return command;
  return command_of_line(command->shell);
}

Result<Duration> read_manifest_timeout(const YamlReader& reader, const YamlNode& value) {
  const auto text = reader.text(value, "timeout");
  if (!text) return text.error();
  const auto limit = parse_duration(*text);
  if (!limit) return reader.error(value, of_field("timeout", limit.error()).message);
  if (limit->value == 0)
    return reader.error(value, "timeout: must be more than zero, such as 1h30m");
  return *limit;
}

Result<std::vector<std::string>> read_manifest_env(const YamlReader& reader,
                                                   const YamlNode& value) {
  if (value.kind != Kind::kList) return reader.variables(value, "env");
  struct Variable {
    std::optional<std::string> name;
    std::optional<std::string> value;
  };
  constexpr YamlField<Variable> kFields[] = {
      {"name",
       [](const YamlReader& from, const YamlNode& node, Variable& into) {
         into.name.emplace();
         return from.keep(from.text(node, "env: name"), *into.name);
       }},
      {"value",
       [](const YamlReader& from, const YamlNode& node, Variable& into) {
         if (node.kind != Kind::kText)
           return Result<void>(from.wrong_kind(node, "env: value", "text"));
         into.value = node.text;
         return Result<void>();
       }},
  };
  std::vector<std::string> env;
  for (const YamlNode& item : value.items) {
    Variable variable;
    const auto done = read_fields<Variable>(reader, item, "env", kFields, variable);
    if (!done) return done.error();
    if (!variable.name || !variable.value || variable.name->find('=') != std::string::npos)
      return reader.error(item, "env: a variable has a name without '=' and a value");
    env.push_back(*variable.name + "=" + *variable.value);
  }
  return env;
}

}  // namespace tutti
