#include "core/spec/job_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "core/spec/dependency.h"
#include "core/spec/field.h"
#include "core/spec/machine.h"
#include "core/spec/manifest.h"
#include "core/spec/model_yaml.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "core/spec/workers_yaml.h"
#include "core/spec/yaml_fields.h"

namespace tutti {
namespace {

using Kind = YamlNode::Kind;

// Reads one job of a file. Lives for one call; failures are thrown away with it.
class JobReader {
 public:
  explicit JobReader(const std::string& file_name) : reader_(file_name) {}

  Result<JobFileEntry> read(const YamlNode& map);

 private:
  using Reader = Result<void> (JobReader::*)(const YamlNode&);
  struct Field {
    std::string_view name;
    Reader reader;
  };
  static const std::array<Field, 18> kFields;

  static std::vector<std::string_view> known_fields();

  Error error(const YamlNode& at, const std::string& why) const { return reader_.error(at, why); }
  Error wrong_kind(const YamlNode& value, std::string_view field, const char* wanted) const {
    return reader_.wrong_kind(value, field, wanted);
  }
  Result<std::vector<std::string>> texts(const YamlNode& value, std::string_view field) const {
    return reader_.texts(value, field);
  }
  Result<void> read_field(const YamlNode& key, const YamlNode& value);
  Result<void> read_scalar(std::string_view field, const YamlNode& value);
  Result<void> finish(const YamlNode& map);
  Result<void> finish_results();
  Result<void> finish_workers();
  Result<void> finish_command(const YamlNode& map);

  Result<void> read_command(const YamlNode& value);
  Result<void> read_script(const YamlNode& value);
  Result<void> read_args(const YamlNode& value);
  Result<void> read_lines(const YamlNode& value);
  Result<void> read_labels(const YamlNode& value);
  Result<void> read_on(const YamlNode& value);
  Result<void> read_results(const YamlNode& value);
  Result<void> read_results_to(const YamlNode& value);
  Result<void> read_env(const YamlNode& value);
  Result<void> read_clean_env(const YamlNode& value);
  Result<void> read_after(const YamlNode& value);
  Result<void> read_snapshot(const YamlNode& value);
  Result<void> read_no_copy(const YamlNode& value);
  Result<void> read_exclusive(const YamlNode& value);
  Result<void> note_workers(const YamlNode& value);
  Result<void> read_container_field(const YamlNode& value);
  Result<void> read_configurations_field(const YamlNode& value);
  Result<void> read_model_field(const YamlNode& value);

  const YamlReader reader_;
  JobFileEntry entry_;
  std::vector<std::string> args_;
  bool has_args_ = false;
  bool range_has_parallel_ = false;
  bool has_max_parallel_ = false;
  bool has_snapshot_ = false;
  const YamlNode* results_to_ = nullptr;
  const YamlNode* workers_ = nullptr;  // read last: they begin with what is said for all
};

const std::array<JobReader::Field, 18> JobReader::kFields = {{
    {"command", &JobReader::read_command},
    {"script", &JobReader::read_script},
    {"args", &JobReader::read_args},
    {"lines", &JobReader::read_lines},
    {"labels", &JobReader::read_labels},
    {"on", &JobReader::read_on},
    {"results", &JobReader::read_results},
    {"results_to", &JobReader::read_results_to},
    {"env", &JobReader::read_env},
    {"clean_env", &JobReader::read_clean_env},
    {"after", &JobReader::read_after},
    {"snapshot", &JobReader::read_snapshot},
    {"no_copy", &JobReader::read_no_copy},
    {"exclusive", &JobReader::read_exclusive},
    {"workers", &JobReader::note_workers},
    {"container", &JobReader::read_container_field},
    {"configurations", &JobReader::read_configurations_field},
    {"model", &JobReader::read_model_field},
}};

std::vector<std::string_view> JobReader::known_fields() {
  std::vector<std::string_view> names(scalar_fields().begin(), scalar_fields().end());
  for (const Field& field : kFields)
    if (std::find(names.begin(), names.end(), field.name) == names.end())
      names.push_back(field.name);
  return names;
}

Result<JobFileEntry> JobReader::read(const YamlNode& map) {
  if (map.kind != Kind::kMap)
    return wrong_kind(map, "a job", "fields such as 'command: python train.py'");
  entry_.place.line = map.place.line;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const Result<void> done = read_field(map.keys[i], map.items[i]);
    if (!done) return done.error();
  }
  if (const Result<void> done = finish(map); !done) return done.error();
  return std::move(entry_);
}

Result<void> JobReader::read_field(const YamlNode& key, const YamlNode& value) {
  const std::string& name = key.text;
  entry_.place.fields.emplace(name, key.place.line);
  for (const Field& field : kFields) {
    if (field.name == name) return (this->*field.reader)(value);
  }
  const auto scalars = scalar_fields();
  if (std::find(scalars.begin(), scalars.end(), name) != scalars.end()) {
    return read_scalar(name, value);
  }
  if (name == "jobs")
    return error(key, "a file with 'jobs' has no other fields; write them into each of its jobs");
  return reader_.unknown(key, "", known_fields());
}

Result<void> JobReader::read_scalar(std::string_view field, const YamlNode& value) {
  if (value.kind != Kind::kText) return wrong_kind(value, field, "one value");
  const Result<void> stored = set_field(entry_.spec, field, value.text);
  if (!stored) return error(value, stored.error().message);
  if (field == "max_parallel") has_max_parallel_ = true;
  if (field == "array") range_has_parallel_ = value.text.find('%') != std::string::npos;
  return {};
}

Result<void> JobReader::finish(const YamlNode& map) {
  if (entry_.on && !has_snapshot_) entry_.snapshot = !entry_.no_copy;
  if (has_max_parallel_ && range_has_parallel_) {
    return error(map, "both max_parallel and %PARALLEL in array; keep one");
  }
  if (const auto done = finish_results(); !done) return done;
  if (const auto done = finish_workers(); !done) return done;
  if (const auto done = finish_command(map); !done) return done;
  fill_gang(entry_.spec);
  return {};
}

// As on the command line: where to without what means all of the work directory.
Result<void> JobReader::finish_results() {
  if (results_to_ == nullptr) return {};
  ResultRule& results = entry_.spec.results;
  if (!results.folder.empty())
    return error(*results_to_, "both results_to and the folder of results; keep one");
  results.folder = results_to_->text;
  if (results.paths.empty()) results.paths = {"."};
  return {};
}

Result<void> JobReader::finish_workers() {
  if (workers_ == nullptr) return {};
  const JobSpec& spec = entry_.spec;
  if (spec.tasks.shape == TaskSet::Shape::kArray || !spec.lines.empty() || has_max_parallel_) {
    return error(*workers_,
                 "workers cannot be combined with array, lines and max_parallel; give "
                 "one of them");
  }
  return reader_.keep(read_workers(reader_, *workers_, spec.request), entry_.spec.gang.workers);
}

Result<void> JobReader::finish_command(const YamlNode& map) {
  const Command& command = entry_.spec.command;
  const int given = (command.argv.empty() && command.shell.empty() ? 0 : 1) +
                    (entry_.script_path.empty() ? 0 : 1) + (entry_.spec.lines.empty() ? 0 : 1);
  const auto& workers = entry_.spec.gang.workers;
  const bool of_workers =
      !workers.empty() && std::all_of(workers.begin(), workers.end(),
                                      [](const auto& group) { return !group.command.empty(); });
  if (given != 1 && !(given == 0 && of_workers)) {
    return error(map, given == 0 ? "no command; give one of command, script and lines"
                                 : "more than one command; give one of command, script and lines");
  }
  if (entry_.script_path.empty()) {
    return has_args_
               ? Result<void>(error(map, "args is for script; put the arguments into command"))
               : Result<void>();
  }
  entry_.spec.command.argv = {entry_.script_path.substr(entry_.script_path.rfind('/') + 1)};
  for (std::string& arg : args_) entry_.spec.command.argv.push_back(std::move(arg));
  return {};
}

Result<void> JobReader::read_command(const YamlNode& value) {
  return reader_.keep(reader_.command(value), entry_.spec.command);
}

Result<void> JobReader::read_script(const YamlNode& value) {
  if (value.kind != Kind::kText || value.text.empty() || value.text.ends_with('/')) {
    return error(value, "script must be the path of a file");
  }
  entry_.script_path = value.text;
  return {};
}

Result<void> JobReader::read_args(const YamlNode& value) {
  Result<std::vector<std::string>> words = texts(value, "args");
  if (!words) return words.error();
  args_ = *std::move(words);
  has_args_ = true;
  return {};
}

Result<void> JobReader::read_lines(const YamlNode& value) {
  Result<std::vector<std::string>> lines = texts(value, "lines");
  if (!lines) return lines.error();
  if (lines->empty()) return error(value, "lines is empty; write at least one command");
  for (const YamlNode& item : value.items) {
    if (trimmed(item.text).empty()) return error(item, "this command is empty");
    entry_.spec.line_numbers.push_back(item.place.line);
  }
  entry_.spec.lines = *std::move(lines);
  return {};
}

Result<void> JobReader::read_labels(const YamlNode& value) {
  Result<std::vector<std::string>> labels = texts(value, "labels");
  if (!labels) return labels.error();
  auto& all = entry_.spec.request.labels;
  all.insert(all.end(), labels->begin(), labels->end());
  return {};
}

Result<void> JobReader::read_on(const YamlNode& value) {
  std::string text = value.text;
  if (value.kind != Kind::kText) {
    const auto names = texts(value, "on");
    if (!names) return names.error();
    text.clear();
    for (const std::string& name : *names) text += (text.empty() ? "" : ",") + name;
  }
  const auto label = label_of_places(text);
  if (!label) return error(value, label.error().message);
  entry_.spec.request.labels.push_back(*label);
  entry_.on = true;
  return {};
}

Result<void> JobReader::read_results(const YamlNode& value) {
  const YamlNode* paths = &value;
  if (value.kind == Kind::kMap) {
    paths = nullptr;
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const std::string& name = value.keys[i].text;
      const YamlNode& item = value.items[i];
      if (name == "paths") {
        paths = &item;
      } else if (name == "folder" && item.kind == Kind::kText && !item.text.empty()) {
        entry_.spec.results.folder = item.text;
      } else {
        return error(value.keys[i], "results has the fields folder (a path) and paths (a list)");
      }
    }
  }
  if (paths == nullptr) return error(value, "results names no paths; write such as [out, log.txt]");
  Result<std::vector<std::string>> list = texts(*paths, "results");
  if (!list) return list.error();
  if (list->empty()) return error(*paths, "results is empty; name at least one path, such as .");
  entry_.spec.results.paths = *std::move(list);
  return {};
}

Result<void> JobReader::read_results_to(const YamlNode& value) {
  const auto folder = reader_.text(value, "results_to");
  if (!folder) return folder.error();
  results_to_ = &value;
  return {};
}

Result<void> JobReader::read_env(const YamlNode& value) {
  return reader_.keep(reader_.variables(value, "env"), entry_.spec.env);
}

Result<void> JobReader::read_clean_env(const YamlNode& value) {
  return reader_.keep(reader_.truth(value, "clean_env"), entry_.clean_env);
}

Result<void> JobReader::read_after(const YamlNode& value) {
  const bool one = value.kind == Kind::kText;
  if (!one && value.kind != Kind::kList)
    return wrong_kind(value, "after", "a list such as [12, '13:any']");
  const std::span<const YamlNode> items = one ? std::span(&value, 1) : std::span(value.items);
  for (const YamlNode& item : items) {
    if (item.kind != Kind::kText) return wrong_kind(item, "an entry of after", "a job's number");
    for (const std::string_view word : split_commas(item.text)) {
      if (word.starts_with("last") && parse_dependency("1" + std::string(word.substr(4)))) {
        entry_.after_last.emplace_back(word);
        continue;
      }
      const Result<Dependency> dependency = parse_dependency(word);
      if (!dependency) return error(item, dependency.error().message);
      const Result<void> added = add_dependency(entry_.spec.after, *dependency);
      if (!added) return error(item, added.error().message);
    }
  }
  return {};
}

Result<void> JobReader::read_snapshot(const YamlNode& value) {
  has_snapshot_ = true;
  return reader_.keep(reader_.truth(value, "snapshot"), entry_.snapshot);
}

Result<void> JobReader::read_no_copy(const YamlNode& value) {
  return reader_.keep(reader_.truth(value, "no_copy"), entry_.no_copy);
}

Result<void> JobReader::read_exclusive(const YamlNode& value) {
  const auto alone = reader_.truth(value, "exclusive");
  if (!alone) return alone.error();
  return *alone ? set_field(entry_.spec, "share", "never") : Result<void>();
}

Result<void> JobReader::note_workers(const YamlNode& value) {
  workers_ = &value;
  return {};
}

Result<void> JobReader::read_container_field(const YamlNode& value) {
  return read_container(reader_, value, entry_.spec.container);
}

Result<void> JobReader::read_configurations_field(const YamlNode& value) {
  return read_configurations(reader_, value, entry_.spec);
}

Result<void> JobReader::read_model_field(const YamlNode& value) {
  return read_model(reader_, value, entry_.spec);
}

Result<JobFileEntry> entry_of_manifest(const YamlNode& root, const std::string& file_name) {
  auto manifest = read_manifest(root, file_name);
  if (!manifest) return manifest.error();
  JobFileEntry entry;
  entry.spec = std::move(manifest->spec);
  entry.notes = std::move(manifest->notes);
  entry.place.line = root.place.line;
  return entry;
}

}  // namespace

std::uint32_t JobPlace::line_of(std::string_view message) const {
  const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  const auto field = fields.find(message.substr(0, end));
  return field == fields.end() ? line : field->second;
}

Result<std::vector<JobFileEntry>> parse_job_file(std::string_view text,
                                                 const std::string& file_name) {
  const Result<YamlNode> root = parse_yaml(text, file_name);
  if (!root) return root.error();
  if (is_manifest(*root)) {
    Result<JobFileEntry> entry = entry_of_manifest(*root, file_name);
    if (!entry) return entry.error();
    return std::vector<JobFileEntry>{*std::move(entry)};
  }
  const bool several =
      root->kind == Kind::kMap && root->keys.size() == 1 && root->keys[0].text == "jobs";
  const YamlNode& jobs = several ? root->items[0] : *root;
  if (several && (jobs.kind != Kind::kList || jobs.items.empty())) {
    return yaml_error(file_name, jobs.place, "jobs must be a list with at least one job");
  }
  const std::span<const YamlNode> maps = several ? std::span(jobs.items) : std::span(&jobs, 1);
  std::vector<JobFileEntry> entries;
  for (const YamlNode& map : maps) {
    Result<JobFileEntry> entry = JobReader(file_name).read(map);
    if (!entry) return entry.error();
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace tutti
