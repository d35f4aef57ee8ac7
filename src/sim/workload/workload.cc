#include "sim/workload/workload.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/nearest.h"
#include "core/spec/csv.h"
#include "core/spec/text.h"
#include "sim/csv_table.h"
#include "sim/workload/line_workload.h"
#include "sim/workload/philly.h"
#include "sim/workload/swf.h"
#include "sim/workload/yaml_workload.h"

namespace tutti {
namespace {

class ListedWorkload final : public Workload {
 public:
  explicit ListedWorkload(std::vector<WorkloadJob> listed) : listed_(std::move(listed)) {
    jobs = listed_.size();
  }
  Result<std::optional<WorkloadJob>> next() override {
    if (at_ == listed_.size()) return std::optional<WorkloadJob>();
    return std::optional(listed_[at_++]);
  }
  Result<void> rewind() override {
    at_ = 0;
    return {};
  }

 private:
  std::vector<WorkloadJob> listed_;
  std::size_t at_ = 0;
};

class MergedWorkload final : public Workload {
 public:
  explicit MergedWorkload(std::vector<std::unique_ptr<Workload>> parts)
      : parts_(std::move(parts)), heads_(parts_.size()) {
    for (const auto& part : parts_) {
      name += (name.empty() ? "" : " + ") + part->name;
      jobs += part->jobs;
      cluster.insert(cluster.end(), part->cluster.begin(), part->cluster.end());
      left_out.insert(left_out.end(), part->left_out.begin(), part->left_out.end());
      if (part->starts_at)
        starts_at = std::min(starts_at.value_or(*part->starts_at), *part->starts_at);
    }
  }
  Result<std::optional<WorkloadJob>> next() override {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!heads_[i].read) {
        Result<std::optional<WorkloadJob>> head = parts_[i]->next();
        if (!head) return head.error();
        heads_[i] = {true, *std::move(head)};
        if (heads_[i].job && parts_[i]->starts_at)
          heads_[i].job->submit += *parts_[i]->starts_at - *starts_at;
      }
      if (heads_[i].job && (!first || heads_[i].job->submit < heads_[*first].job->submit))
        first = i;
    }
    if (!first) return std::optional<WorkloadJob>();
    return std::exchange(heads_[*first], {}).job;
  }
  Result<void> rewind() override {
    heads_.assign(parts_.size(), {});
    for (const auto& part : parts_) {
      if (const Result<void> done = part->rewind(); !done) return done;
    }
    return {};
  }

 private:
  struct Head {
    bool read = false;
    std::optional<WorkloadJob> job;
  };
  std::vector<std::unique_ptr<Workload>> parts_;
  std::vector<Head> heads_;
};

constexpr std::string_view kFormats[] = {"yaml", "philly", "swf"};

// What a file looks like.
Result<std::string> guess_format(const std::string& path) {
  for (const auto& [ending, format] :
       {std::pair{".yaml", "yaml"}, {".yml", "yaml"}, {".swf", "swf"}, {".csv", "philly"}}) {
    if (path.ends_with(ending)) return std::string(format);
  }
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line) && trimmed(line).empty()) {
  }
  if (without_byte_order_mark(line).starts_with(';')) return std::string("swf");
  if (line.find(',') != std::string::npos) return std::string("philly");
  if (line.find(':') != std::string::npos) return std::string("yaml");
  return invalid_input(path + ": cannot tell its format; say --format yaml, philly or swf");
}

Result<std::unique_ptr<Workload>> read_yaml(const std::string& path) {
  const Result<std::string> text = read_whole_file(path);
  if (!text) return text.error();
  Result<YamlWorkload> read = parse_yaml_workload(*text, path);
  if (!read) return read.error();
  if (read->jobs.empty()) return invalid_input(path + ": it has no jobs");
  std::unique_ptr<Workload> workload = workload_of(std::move(read->jobs));
  workload->cluster = std::move(read->cluster);
  return workload;
}

Result<std::unique_ptr<Workload>> open_as(const std::string& path, const std::string& format) {
  if (format == "yaml") return read_yaml(path);
  if (format == "swf") return open_lines(path, std::make_unique<SwfReader>(path));
  return open_lines(path, std::make_unique<PhillyReader>(path));
}

}  // namespace

std::string left_out_note(std::uint64_t jobs, const std::string& which) {
  const bool one = jobs == 1;
  return std::to_string(jobs) + (one ? " job " : " jobs ") + which + (one ? " was" : " were") +
         " left out.";
}

std::unique_ptr<Workload> workload_of(std::vector<WorkloadJob> jobs) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const WorkloadJob& a, const WorkloadJob& b) { return a.submit < b.submit; });
  return std::make_unique<ListedWorkload>(std::move(jobs));
}

Result<std::unique_ptr<Workload>> open_workload(const std::string& path,
                                                const std::string& format) {
  if (!std::ifstream(path)) return not_found(path + ": cannot be read; is the path right?");
  std::string known = format;
  if (known.empty()) {
    Result<std::string> guessed = guess_format(path);
    if (!guessed) return guessed.error();
    known = *std::move(guessed);
  }
  if (std::find(std::begin(kFormats), std::end(kFormats), known) == std::end(kFormats))
    return invalid_input("format: " + shown(known) + " is none of yaml, philly, swf" +
                         did_you_mean(known, kFormats));
  Result<std::unique_ptr<Workload>> opened = open_as(path, known);
  if (!opened) return opened.error();
  (*opened)->name = path.substr(path.rfind('/') + 1);
  return opened;
}

std::unique_ptr<Workload> merge(std::vector<std::unique_ptr<Workload>> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<MergedWorkload>(std::move(parts));
}

}  // namespace tutti
