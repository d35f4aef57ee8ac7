#include "sim/workload/yaml_workload.h"

#include <algorithm>

#include "core/spec/field.h"
#include "core/spec/model_yaml.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "core/spec/workers_yaml.h"
#include "core/spec/yaml_fields.h"

namespace tutti {
namespace {

using NodeKind = YamlNode::Kind;

constexpr std::uint32_t kMostCopies = 100'000;
constexpr std::size_t kMostJobs = 100'000;
// A simulation's clock goes on to what its jobs take together, long after that.
constexpr Duration kLatest = seconds(100LL * 366 * 86400);

// That it is a list with something in it.
Result<void> check_list(const YamlReader& reader, const YamlNode& value, const std::string& field,
                        const char* wanted) {
  const bool empty = value.kind == NodeKind::kList && value.items.empty();
  if (empty || value.kind == NodeKind::kNull)
    return reader.error(value, field + " is empty; write " + wanted);
  if (value.kind != NodeKind::kList) return reader.wrong_kind(value, field, wanted);
  return {};
}

// ---- cluster

template <typename T>
Result<void> put_text(const YamlReader& reader, const YamlNode& value, std::string_view field,
                      Result<T> (*parse)(std::string_view), T& into) {
  const Result<std::string> text = reader.text(value, field);
  if (!text) return text.error();
  return reader.store(value, parse(*text), into);
}

Result<void> put_number(const YamlReader& reader, const YamlNode& value, std::string_view field,
                        std::uint32_t most, std::uint32_t& into) {
  const Result<std::string> text = reader.text(value, field);
  if (!text) return text.error();
  return reader.store(value, parse_count(field, *text, field == "gpus" ? 0 : 1, most), into);
}

constexpr YamlField<NodeGroup> kGroupFields[] = {
    {"name", [](const YamlReader& reader, const YamlNode& value,
                NodeGroup& into) { return reader.keep(reader.text(value, "name"), into.name); }},
    {"nodes",
     [](const YamlReader& reader, const YamlNode& value, NodeGroup& into) {
       return put_number(reader, value, "nodes", kMaxSimulatedNodes, into.count);
     }},
    {"cpus",
     [](const YamlReader& reader, const YamlNode& value, NodeGroup& into) {
       return put_text(reader, value, "cpus", parse_cpus, into.cpus);
     }},
    {"mem",
     [](const YamlReader& reader, const YamlNode& value, NodeGroup& into) {
       return put_text(reader, value, "mem", parse_memory, into.memory);
     }},
    {"gpus",
     [](const YamlReader& reader, const YamlNode& value, NodeGroup& into) {
       return put_number(reader, value, "gpus", kMaxGpusPerNode, into.gpus);
     }},
    {"type", [](const YamlReader& reader, const YamlNode& value,
                NodeGroup& into) { return reader.keep(reader.text(value, "type"), into.type); }},
    {"gpu_mem",
     [](const YamlReader& reader, const YamlNode& value, NodeGroup& into) {
       return put_text(reader, value, "gpu_mem", parse_memory, into.gpu_memory);
     }},
    {"labels",
     [](const YamlReader& reader, const YamlNode& value, NodeGroup& into) {
       return reader.keep(reader.texts(value, "labels"), into.labels);
     }},
};

Result<void> read_cluster(const YamlReader& reader, const YamlNode& value,
                          std::vector<NodeGroup>& cluster) {
  const auto listed =
      check_list(reader, value, "cluster", "a list such as '- {nodes: 2, cpus: 64}'");
  if (!listed) return listed;
  std::uint64_t nodes = 0;
  for (const YamlNode& item : value.items) {
    NodeGroup group;
    const auto read = read_fields<NodeGroup>(reader, item, "cluster", kGroupFields, group);
    if (!read) return read;
    if (group.gpus > 0 && group.type.empty())
      return reader.error(item, "its GPUs have no type; add such as 'type: A100'");
    if (group.gpus == 0 && (!group.type.empty() || group.gpu_memory.value > 0))
      return reader.error(item, "it has a type but no gpus; add such as 'gpus: 8'");
    nodes += group.count;
    if (nodes > kMaxSimulatedNodes) return reader.error(item, "at most 100,000 nodes");
    cluster.push_back(std::move(group));
  }
  return {};
}

// ---- jobs

// Fields of job files that say nothing that a simulation could show.
constexpr std::string_view kWithoutMeaning[] = {"workdir", "output", "error", "image"};

// A job as it is written: one entry that stands for `count` jobs.
class EntryReader {
 public:
  explicit EntryReader(const YamlReader& reader) : reader_(reader) {}

  Result<void> read(const YamlNode& map, std::vector<WorkloadJob>& jobs);

 private:
  Result<void> read_one(const YamlNode& key, const YamlNode& value);
  Result<void> read_runs(const YamlNode& value);
  Result<void> finish(const YamlNode& map);
  Result<void> check(const YamlNode& map) const;

  const YamlReader& reader_;
  WorkloadJob job_;
  std::uint32_t count_ = 1;
  Duration every_;
  const YamlNode* workers_ = nullptr;
};

Result<void> EntryReader::read_runs(const YamlNode& value) {
  const std::span<const YamlNode> items =
      value.kind == NodeKind::kList ? std::span(value.items) : std::span(&value, 1);
  if (items.empty()) return reader_.error(value, "runs is empty; write such as 'runs: 1h'");
  for (const YamlNode& item : items) {
    const auto read = put_text(reader_, item, "runs", parse_duration, job_.runs.emplace_back());
    if (!read) return read;
  }
  return {};
}

Result<void> EntryReader::read_one(const YamlNode& key, const YamlNode& value) {
  const std::string& name = key.text;
  if (name == "submit") return put_text(reader_, value, name, parse_duration, job_.submit);
  if (name == "every") return put_text(reader_, value, name, parse_duration, every_);
  if (name == "deadline") return put_text(reader_, value, name, parse_duration, job_.deadline);
  if (name == "runs") return read_runs(value);
  if (name == "count") return put_number(reader_, value, name, kMostCopies, count_);
  if (name == "user") return reader_.keep(reader_.text(value, name), job_.spec.user);
  if (name == "labels") return reader_.keep(reader_.texts(value, name), job_.spec.request.labels);
  if (name == "configurations") return read_configurations(reader_, value, job_.spec);
  if (name == "model") return read_model(reader_, value, job_.spec);
  if (name == "workers") {
    workers_ = &value;
    return {};
  }
  std::vector<std::string_view> known = {"submit", "every", "deadline", "runs",
                                         "count",  "user",  "labels",   "workers"};
  for (const std::string_view field : scalar_fields()) {
    if (std::find(std::begin(kWithoutMeaning), std::end(kWithoutMeaning), field) ==
        std::end(kWithoutMeaning))
      known.push_back(field);
  }
  if (std::find(known.begin(), known.end(), name) == known.end())
    return reader_.unknown(key, "a job of a workload", known);
  if (value.kind != NodeKind::kText) return reader_.wrong_kind(value, name, "one value");
  const Result<void> stored = set_field(job_.spec, name, value.text);
  return stored ? stored : reader_.error(value, stored.error().message);
}

Result<void> EntryReader::check(const YamlNode& map) const {
  if (job_.runs.empty()) return reader_.error(map, "runs is missing; say how long it takes");
  if (every_.value > 0 && count_ == 1)
    return reader_.error(map, "every needs a count; add such as 'count: 10'");
  // What the controller will ask of it, so that an error has a place.
  JobSpec spec = job_.spec;
  spec.command.argv = {"sim"};
  spec.workdir = "/";
  fill_defaults(spec);
  const Result<void> valid = validate(spec);
  return valid ? valid : reader_.error(map, valid.error().message);
}

Result<void> EntryReader::finish(const YamlNode& map) {
  JobSpec& spec = job_.spec;
  if (workers_ != nullptr) {
    if (spec.tasks.shape != TaskSet::Shape::kSingle)
      return reader_.error(*workers_, "workers cannot be combined with array; give one of them");
    const auto read =
        reader_.keep(read_workers(reader_, *workers_, spec.request), spec.gang.workers);
    if (!read) return read;
  }
  if (spec.name.empty()) spec.name = "line-" + std::to_string(map.place.line);
  if (spec.kind.empty()) spec.kind = spec.name;
  DeviceRequest& devices = spec.request.devices;
  if (devices.count == 0 && (devices.memory.value > 0 || devices.share.value > 0))
    devices.count = 1;
  // Nothing is measured in a simulation: what is not said is taken to be all of a device.
  if (devices.unknown()) devices.sharing = Sharing::kNever;
  return check(map);
}

Result<void> EntryReader::read(const YamlNode& map, std::vector<WorkloadJob>& jobs) {
  if (map.kind != NodeKind::kMap)
    return reader_.wrong_kind(map, "a job", "fields such as 'runs: 1h'");
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const Result<void> done = read_one(map.keys[i], map.items[i]);
    if (!done) return done;
  }
  if (const Result<void> done = finish(map); !done) return done;
  if (every_.value > (kLatest - job_.submit).value / count_)
    return reader_.error(map, "the last of these is submitted after more than a hundred years");
  if (jobs.size() + count_ > kMostJobs)
    return reader_.error(map, "these are more than 100,000 jobs; write such a trace as SWF or CSV");
  const std::string name = job_.spec.name;
  for (std::uint32_t i = 0; i < count_; ++i) {
    jobs.push_back(job_);
    if (count_ > 1) jobs.back().spec.name = name + "-" + std::to_string(i + 1);
    job_.submit += every_;
  }
  return {};
}

Result<void> read_jobs(const YamlReader& reader, const YamlNode& value,
                       std::vector<WorkloadJob>& jobs) {
  const auto listed = check_list(reader, value, "jobs", "a list such as '- {submit: 0, runs: 1h}'");
  if (!listed) return listed;
  for (const YamlNode& item : value.items) {
    const Result<void> done = EntryReader(reader).read(item, jobs);
    if (!done) return done;
  }
  return {};
}

constexpr YamlField<YamlWorkload> kTopFields[] = {
    {"cluster", [](const YamlReader& reader, const YamlNode& value,
                   YamlWorkload& into) { return read_cluster(reader, value, into.cluster); }},
    {"jobs", [](const YamlReader& reader, const YamlNode& value,
                YamlWorkload& into) { return read_jobs(reader, value, into.jobs); }},
};

}  // namespace

Result<YamlWorkload> parse_yaml_workload(std::string_view text, const std::string& file_name) {
  const Result<YamlNode> root = parse_yaml(text, file_name);
  if (!root) return root.error();
  const YamlReader reader(file_name);
  YamlWorkload workload;
  const auto read = read_fields<YamlWorkload>(reader, *root, "a workload", kTopFields, workload);
  if (!read) return read.error();
  return workload;
}

}  // namespace tutti
