#include "control/launches.h"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t kMostKept = 64;
// A spec may be megabytes, and stays here when its job has long ended.
constexpr std::size_t kMostKeptBytes = std::size_t{8} << 20;
constexpr std::uint32_t kLinesAtOnce = 1000;

std::size_t bytes_of(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += sizeof(std::string) + word.size();
  return bytes;
}

std::size_t bytes_of(const Command& command) {
  return bytes_of(command.argv) + command.shell.size() + command.script.size();
}

// Of what can be much in it.
std::size_t bytes_of(const JobSpec& spec) {
  std::size_t bytes = bytes_of(spec.command) + bytes_of(spec.env) + bytes_of(spec.remote_env) +
                      spec.line_numbers.size() * sizeof(std::uint32_t);
  for (const WorkerGroup& group : spec.gang.workers)
    bytes += sizeof group + bytes_of(group.command) + bytes_of(group.env);
  return bytes;
}

}  // namespace

const JobSpec& Launches::remember(JobId job, JobSpec spec) {
  return submitted_.insert_or_assign(job, std::move(spec)).first->second;
}

void Launches::committed() {
  submitted_.clear();
}

void Launches::forget() {
  submitted_.clear();
  kept_.clear();
  kept_bytes_ = 0;
  recent_.clear();
}

Result<Launches::Kept*> Launches::kept(JobId job) {
  if (const auto it = kept_.find(job); it != kept_.end()) {
    recent_.splice(recent_.begin(), recent_, it->second.recency);
    return &it->second;
  }
  Kept fresh;
  if (const auto it = submitted_.find(job); it != submitted_.end()) {
    // Its lines may be many: they stay where they are until they are committed.
    std::vector<std::string> lines = std::move(it->second.lines);
    fresh.spec = it->second;
    it->second.lines = std::move(lines);
  } else {
    Result<JobSpec> loaded = store_.load_spec(job);
    if (!loaded) return loaded.error();
    fresh.spec = std::move(*loaded);
  }
  const std::size_t groups = std::max<std::size_t>(1, fresh.spec.gang.workers.size());
  fresh.bytes = bytes_of(fresh.spec);
  for (std::size_t group = 0; group < groups; ++group) {
    fresh.contexts.push_back(
        std::make_shared<const LaunchContext>(context_of(job, fresh.spec, group)));
    fresh.bytes +=
        bytes_of(fresh.contexts.back()->env) + bytes_of(fresh.contexts.back()->remote_env);
  }
  make_room_for(fresh);
  recent_.push_front(job);
  fresh.recency = recent_.begin();
  kept_bytes_ += fresh.bytes;
  return &kept_.emplace(job, std::move(fresh)).first->second;
}

void Launches::make_room_for(const Kept& fresh) {
  while (!recent_.empty() &&
         (kept_.size() >= kMostKept || kept_bytes_ + fresh.bytes > kMostKeptBytes)) {
    const auto oldest = kept_.find(recent_.back());
    kept_bytes_ -= oldest->second.bytes;
    kept_.erase(oldest);
    recent_.pop_back();
  }
}

Result<std::string> Launches::line(JobId job, Kept& kept, std::uint32_t index) {
  if (kept.spec.tasks.shape != TaskSet::Shape::kBatch) return std::string();
  if (const auto it = submitted_.find(job); it != submitted_.end())
    return it->second.lines.at(index);
  if (index < kept.first_line || index >= kept.first_line + kept.lines.size()) {
    const std::uint32_t count = std::min(kLinesAtOnce, kept.spec.tasks.count - index);
    Result<std::vector<std::string>> lines = store_.load_lines(job, index, count);
    if (!lines) return lines.error();
    if (lines->empty())
      return Error{ErrorCode::kCorrupt, "the command of this line is missing in the database"};
    const std::size_t grown = bytes_of(*lines);
    const std::size_t gone = bytes_of(kept.lines);
    kept.bytes = kept.bytes + grown - gone;
    kept_bytes_ = kept_bytes_ + grown - gone;
    kept.lines = std::move(*lines);
    kept.first_line = index;
  }
  return kept.lines[index - kept.first_line];
}

Result<Launches::Ready> Launches::launch(const AttemptPlaced& placed, const Node& node,
                                         const GangPlaces& places) {
  const TaskId task = placed.attempt.task;
  Result<Kept*> found = kept(task.job);
  if (!found) return found.error();
  Result<std::string> text = line(task.job, **found, task.index);
  if (!text) return text.error();
  const JobSpec& spec = (*found)->spec;
  const std::size_t group = spec.gang.workers.empty() ? 0 : group_of_rank(spec.gang, task.index);
  return Ready{(*found)->contexts[group],
               launch_of(task.job, spec, placed.attempt, *text, placed.allocation, node, places)};
}

}  // namespace tutti
