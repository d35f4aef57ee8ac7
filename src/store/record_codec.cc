#include "store/record_codec.h"

#include <algorithm>
#include <utility>

#include "core/spec/command_line.h"
#include "store/fields.h"

namespace tutti {
namespace {

FieldWriter begin(std::string& out) {
  out.assign(1, static_cast<char>(kRecordVersion));
  return FieldWriter(out);
}

FieldReader open_record(std::string_view bytes) {
  const auto version = static_cast<std::uint8_t>(bytes.empty() ? '\0' : bytes[0]);
  const bool known = version >= 1 && version <= kRecordVersion;
  FieldReader reader(known ? bytes.substr(1) : bytes, version);
  if (!known) reader.fail();
  return reader;
}

void task_fields(auto& codec, auto& row) {
  codec.number(row.attempts);
  codec.number(row.retries_used);
  codec.number(row.not_before);
  codec.number(row.node);
  codec.number(row.lane);
  codec.flag(row.staged);
  device_list_fields(codec, row.devices);
  codec.number(row.placed_at);
  codec.number(row.started_at);
  codec.number(row.ended_at);
  codec.number(row.pid);
  codec.choice(row.stop_cause, kLastEnding);
  fields(codec, row.outcome);
  if (!codec.since(2)) return;
  codec.number(row.oom_retries);
  codec.flag(row.measuring);
  codec.number(row.pid_birth);
  if (codec.since(4)) codec.list(row.ports, [&](auto& port) { codec.number(port); });
}

void command_fields(auto& codec, auto& command) {
  codec.list(command.argv, [&](auto& word) { codec.text(word); });
  codec.text(command.shell);
  codec.text(command.script);
}

void spec_fields(auto& codec, auto& spec) {
  command_fields(codec, spec.command);
  codec.number(spec.grace);
  codec.text(spec.workdir);
  codec.text(spec.stdout_pattern);
  codec.text(spec.stderr_pattern);
  codec.text(spec.snapshot);
}

void lease_fields(auto& codec, auto& spec) {
  codec.flag(spec.lease);
  codec.number(spec.holder_pid);
  codec.number(spec.holder_birth);
}

// A run of consecutive line numbers. A batch file has as many as it has interruptions.
struct LineRun {
  std::uint32_t first = 0;
  std::uint32_t length = 0;
};

void run_fields(auto& codec, auto& runs) {
  codec.list(runs, [&](auto& run) {
    codec.number(run.first);
    codec.number(run.length);
  });
}

std::vector<LineRun> runs_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<LineRun> runs;
  for (const std::uint32_t number : numbers) {
    if (!runs.empty() && std::uint64_t{runs.back().first} + runs.back().length == number)
      ++runs.back().length;
    else
      runs.push_back({number, 1});
  }
  return runs;
}

bool expand_runs(const std::vector<LineRun>& runs, std::vector<std::uint32_t>& numbers) {
  numbers.clear();
  std::uint64_t total = 0;
  for (const LineRun& run : runs) total += run.length;
  // A batch has fewer lines than this; a damaged length must not take all memory.
  if (total > (1u << 26)) return false;
  numbers.reserve(total);
  for (const LineRun& run : runs)
    for (std::uint32_t i = 0; i < run.length; ++i) numbers.push_back(run.first + i);
  return true;
}

// What matters on nodes elsewhere only.
void elsewhere_fields(auto& codec, auto& spec) {
  codec.list(spec.remote_env, [&](auto& entry) { codec.text(entry); });
  codec.text(spec.results.folder);
  codec.list(spec.results.paths, [&](auto& path) { codec.text(path); });
}

void gang_fields(auto& codec, auto& gang) {
  codec.choice(gang.framework, kLastFramework);
  codec.number(gang.start_timeout);
  codec.list(gang.workers, [&](auto& group) {
    codec.text(group.name);
    rank_fields(codec, group.ranks);
    command_fields(codec, group.command);
    codec.list(group.env, [&](auto& entry) { codec.text(entry); });
    codec.number(group.time_limit);
    codec.number(group.shared_memory);
    codec.number(group.replica);
    if (codec.since(5)) codec.number(group.cpu_limit);
  });
}

void container_fields(auto& codec, auto& container) {
  codec.text(container.image);
  codec.text(container.runtime);
  codec.text(container.build.dockerfile);
  codec.text(container.build.context);
  codec.text(container.build.target);
  codec.list(container.build.args, [&](auto& entry) { codec.text(entry); });
  codec.list(container.mounts, [&](auto& mount) { codec.text(mount); });
}

void rare_fact_fields(auto& codec, auto& facts) {
  rare_fields(codec, facts.request);
  if (!codec.since(4)) return;
  codec.list(facts.ranks, [&](auto& ranks) { rank_fields(codec, ranks); });
  node_limit_fields(codec, facts.node_limits);
  if (codec.since(5)) model_fields(codec, facts.model);
}

}  // namespace

void encode_task(const TaskRow& row, std::string& out) {
  auto writer = begin(out);
  task_fields(writer, row);
}

bool decode_task(std::string_view bytes, TaskRow& row) {
  auto reader = open_record(bytes);
  task_fields(reader, row);
  return reader.complete();
}

void encode_counts(const TaskCounts& counts, std::string& out) {
  auto writer = begin(out);
  for (const std::uint32_t count : counts.by_state) writer.number(count);
}

bool decode_counts(std::string_view bytes, TaskCounts& counts) {
  auto reader = open_record(bytes);
  for (std::uint32_t& count : counts.by_state) reader.number(count);
  return reader.complete();
}

void encode_rare_facts(const JobFacts& facts, std::string& out) {
  auto writer = begin(out);
  rare_fact_fields(writer, facts);
}

bool decode_rare_facts(std::string_view bytes, JobFacts& facts) {
  auto reader = open_record(bytes);
  rare_fact_fields(reader, facts);
  return reader.complete();
}

void encode_dependencies(const std::vector<Dependency>& after, std::string& out) {
  auto writer = begin(out);
  dependency_fields(writer, after);
}

bool decode_dependencies(std::string_view bytes, std::vector<Dependency>& after) {
  auto reader = open_record(bytes);
  dependency_fields(reader, after);
  return reader.complete();
}

void encode_spec(const JobSpec& spec, std::string& out) {
  auto writer = begin(out);
  spec_fields(writer, spec);
  const std::vector<LineRun> runs = runs_of(spec.line_numbers);
  run_fields(writer, runs);
  lease_fields(writer, spec);
  elsewhere_fields(writer, spec);
  gang_fields(writer, spec.gang);
  container_fields(writer, spec.container);
}

bool decode_spec(std::string_view bytes, JobSpec& spec) {
  auto reader = open_record(bytes);
  spec_fields(reader, spec);
  std::vector<LineRun> runs;
  run_fields(reader, runs);
  if (reader.since(2)) lease_fields(reader, spec);
  if (reader.since(3)) elsewhere_fields(reader, spec);
  if (reader.since(4)) {
    gang_fields(reader, spec.gang);
    container_fields(reader, spec.container);
  }
  return reader.complete() && expand_runs(runs, spec.line_numbers);
}

void encode_texts(std::span<const std::string> texts, std::string& out) {
  auto writer = begin(out);
  writer.number(std::uint64_t{texts.size()});
  for (const std::string& text : texts) writer.text(text);
}

bool decode_texts(std::string_view bytes, std::vector<std::string>& texts) {
  auto reader = open_record(bytes);
  reader.list(texts, [&](std::string& text) { reader.text(text); });
  return reader.complete();
}

void encode_node(const Node& node, std::string& out) {
  auto writer = begin(out);
  fields(writer, node);
}

bool decode_node(std::string_view bytes, Node& node) {
  auto reader = open_record(bytes);
  fields(reader, node);
  node.free_cpus = node.cpus;
  node.free_memory = node.memory;
  return reader.complete();
}

void encode_profile(const Profile& profile, std::string& out) {
  auto writer = begin(out);
  write_profile(writer, profile);
}

bool decode_profile(std::string_view bytes, Profile& profile) {
  auto reader = open_record(bytes);
  read_profile(reader, profile);
  return reader.complete();
}

std::string display_text(const JobSpec& spec) {
  constexpr std::size_t kMost = 200;
  constexpr std::string_view kEllipsis = "\u2026";
  if (spec.lease) return "(lease of process " + std::to_string(spec.holder_pid) + ")";
  std::string text = command_text(spec.command);
  if (text.empty() && !spec.lines.empty()) text = spec.lines.front();

  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  std::replace_if(text.begin(), text.end(), is_control, ' ');
  if (text.size() <= kMost) return text;
  std::size_t end = kMost - kEllipsis.size();
  // Do not cut a UTF-8 character in two; what is not UTF-8 is cut anywhere.
  for (int back = 0; back < 3 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80; ++back)
    --end;
  text.resize(end);
  return text.append(kEllipsis);
}

}  // namespace tutti
