#include "sim/workload/swf.h"

#include <algorithm>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::int64_t kMostProcessors = 100'000'000;
// No claim of a job comes near it.
constexpr MiB kMemoryWithoutEnd{std::int64_t{1} << 40};

// Positions of the fields that are used.
enum SwfField : std::size_t {
  kSwfJob = 0,
  kSwfSubmit = 1,
  kSwfRun = 3,
  kSwfAllocated = 4,
  kSwfRequested = 7,
  kSwfTime = 8,
  kSwfMemory = 9,
  kSwfStatus = 10,
  kSwfUser = 11,
  kSwfGroup = 12,
  kSwfExecutable = 13,
};

constexpr SwfField kUsedFields[] = {kSwfJob,  kSwfSubmit, kSwfRun,  kSwfAllocated, kSwfRequested,
                                    kSwfTime, kSwfMemory, kSwfUser, kSwfGroup,     kSwfExecutable};

bool is_used(std::size_t position) {
  return std::find(std::begin(kUsedFields), std::end(kUsedFields), position) !=
         std::end(kUsedFields);
}

// Whether a line is about a part of a job that another line is about as a whole.
bool is_part(std::string_view status) {
  return status == "2" || status == "3" || status == "4";
}

std::int64_t whole(Duration field) {
  return field.value / 1'000'000;
}

std::string named(const char* what, Duration field) {
  return whole(field) < 0 ? std::string() : what + std::to_string(whole(field));
}

}  // namespace

Result<SwfReader::Fields> SwfReader::split(std::string_view line, std::uint64_t number) {
  Fields fields{};
  part_ = false;
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t from = std::min(line.find_first_not_of(" \t", at), line.size());
    const std::size_t to = std::min(line.find_first_of(" \t", from), line.size());
    if (from == to) break;
    const std::string_view word = line.substr(from, to - from);
    if (is_used(count)) {
      const Result<Duration> field = trace_seconds(word);
      if (!field)
        return line_error(file_, number,
                          "field " + std::to_string(count + 1) + ": " + field.error().message +
                              "; unknown is -1");
      fields[count] = *field;
    }
    if (count == kSwfStatus) part_ = is_part(word);
    ++count;
    at = to;
  }
  if (count != fields.size())
    return line_error(file_, number,
                      "a job has 18 numbers in the Standard Workload Format, this line has " +
                          std::to_string(count));
  return fields;
}

// "; MaxProcs: 1024"; MaxNodes counts if the processors are not told.
void SwfReader::read_comment(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view key = trimmed(line.substr(1, colon - 1));
  const bool processors = key == "MaxProcs";
  if (!processors && (key != "MaxNodes" || processors_ > 0)) return;
  std::string_view value = trimmed(line.substr(colon + 1));
  value = value.substr(0, value.find_first_not_of("0123456789"));
  if (const auto count = parse_digits(value, kMostProcessors)) processors_ = *count;
}

Result<std::optional<WorkloadJob>> SwfReader::read(std::string_view line, std::uint64_t number) {
  if (number == 1) skipped_ = parts_ = 0;
  line = trimmed(line);
  if (line.starts_with(';')) read_comment(line);
  if (line.empty() || line.starts_with(';')) return std::optional<WorkloadJob>();
  const Result<Fields> read = split(line, number);
  if (!read) return read.error();
  if (part_) {
    ++parts_;
    return std::optional<WorkloadJob>();
  }
  const Fields& fields = *read;
  const std::int64_t processors =
      whole(fields[kSwfRequested].value > 0 ? fields[kSwfRequested] : fields[kSwfAllocated]);
  if (processors > kMostProcessors) return line_error(file_, number, "too many processors");
  if (fields[kSwfSubmit].value < 0 || fields[kSwfRun].value < 0 || processors < 1) {
    ++skipped_;
    return std::optional<WorkloadJob>();
  }
  widest_ = std::max(widest_, static_cast<std::uint64_t>(processors));
  WorkloadJob job{.submit = fields[kSwfSubmit],
                  .spec = {},
                  .runs = {fields[kSwfRun]},
                  .deadline = {},
                  .id = {}};
  JobSpec& spec = job.spec;
  spec.name = std::to_string(whole(fields[kSwfJob]));
  spec.user = named("user", fields[kSwfUser]);
  spec.project = named("group", fields[kSwfGroup]);
  if (spec.project.empty()) spec.project = "default";
  spec.kind = named("app", fields[kSwfExecutable]);
  if (spec.kind.empty()) spec.kind = spec.user;
  spec.request.cpus = MilliCpu(processors * 1000);
  // KiB for each processor.
  if (fields[kSwfMemory].value > 0)
    spec.request.memory = MiB((whole(fields[kSwfMemory]) * processors + 1023) / 1024);
  // Those that ran for longer were not ended then either.
  if (fields[kSwfTime].value > 0) spec.time_limit = std::max(fields[kSwfTime], job.runs[0]);
  return std::optional(std::move(job));
}

std::vector<NodeGroup> SwfReader::cluster() const {
  const auto cores = static_cast<std::int64_t>(std::max(processors_, widest_));
  return {{.name = "processors",
           .count = 1,
           .cpus = MilliCpu(cores * 1000),
           .memory = kMemoryWithoutEnd}};
}

std::vector<std::string> SwfReader::left_out() const {
  std::vector<std::string> notes;
  if (skipped_ > 0) notes.push_back(left_out_note(skipped_, "without a run time or processors"));
  if (parts_ == 1)
    notes.emplace_back("1 line of a part of a job was left out; that of the whole job counts.");
  if (parts_ > 1)
    notes.push_back(std::to_string(parts_) +
                    " lines of parts of jobs were left out; those of whole jobs count.");
  return notes;
}

}  // namespace tutti
