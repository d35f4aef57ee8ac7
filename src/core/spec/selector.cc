#include "core/spec/selector.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::uint64_t kMaxSelected = 1'000'000;
constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::int64_t>::max() - 1;

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size() const { return last - first + 1; }
};

Error bad_selector(std::string_view text, std::string_view why) {
  return invalid_input("selector " + shown(text) + ": " + std::string(why));
}

Result<Range> parse_range(std::string_view text, std::string_view whole) {
  const std::size_t dash = text.find('-');
  const auto first = parse_digits(text.substr(0, dash), kMaxNumber);
  const auto last =
      dash == std::string_view::npos ? first : parse_digits(text.substr(dash + 1), kMaxNumber);
  if (!first || !last) {
    return bad_selector(whole, "write job numbers such as 3,5-8, a task such as 12.7, last or all");
  }
  if (*last < *first) return bad_selector(whole, "the range ends before it begins");
  if (*last - *first >= kMaxSelected) return bad_selector(whole, "names more than a million");
  return Range{*first, *last};
}

// Collects jobs in order, merging what is said about the same job.
class Collector {
 public:
  // The room left below kMaxSelected was checked by the caller.
  void add_jobs(const Range& jobs) {
    for (std::uint64_t job = jobs.first; job <= jobs.last; ++job) {
      Entry& found = entry(job);
      found.whole = true;
      found.of_range = found.of_range && jobs.size() > 1;
    }
  }
  void add_labels(std::uint64_t job, const Range& range) {
    Entry& found = entry(job);
    found.of_range = false;
    for (std::uint64_t label = range.first; label <= range.last; ++label) {
      found.labels.push_back(static_cast<std::int64_t>(label));
    }
  }
  SelectedJobs take() {
    SelectedJobs selection;
    for (Entry& entry : entries_) {
      if (entry.whole) entry.labels.clear();
      std::sort(entry.labels.begin(), entry.labels.end());
      entry.labels.erase(std::unique(entry.labels.begin(), entry.labels.end()), entry.labels.end());
      selection.jobs.push_back({JobId(entry.job), std::move(entry.labels), entry.of_range});
    }
    return selection;
  }

 private:
  struct Entry {
    std::uint64_t job = 0;
    bool whole = false;
    std::vector<std::int64_t> labels;
    bool of_range = true;
  };
  Entry& entry(std::uint64_t job) {
    const auto [found, added] = index_.try_emplace(job, entries_.size());
    if (added) entries_.push_back({.job = job});
    return entries_[found->second];
  }
  std::vector<Entry> entries_;
  std::unordered_map<std::uint64_t, std::size_t> index_;
};

// One piece between commas. Gives how many jobs or labels it named.
Result<std::uint64_t> add_piece(std::string_view piece, std::string_view whole, Collector& into) {
  const std::size_t dot = piece.find('.');
  const std::string_view job_text = piece.substr(0, dot);
  Range jobs;  // zero to zero: the last job
  if (job_text != "last") {
    const Result<Range> range = parse_range(job_text, whole);
    if (!range) return range.error();
    if (range->first == 0) return bad_selector(whole, "jobs are numbered from 1");
    jobs = *range;
  }
  if (dot == std::string_view::npos) {
    into.add_jobs(jobs);
    return jobs.size();
  }
  if (jobs.size() != 1) return bad_selector(whole, "tasks can be named of one job at a time");
  const Result<Range> labels = parse_range(piece.substr(dot + 1), whole);
  if (!labels) return labels.error();
  into.add_labels(jobs.first, *labels);
  return labels->size();
}

}  // namespace

Result<SelectedJobs> parse_selector(std::string_view text) {
  if (trimmed(text) == "all") return SelectedJobs{true, {}};
  Collector collector;
  std::uint64_t selected = 0;
  for (const std::string_view piece : split_commas(text)) {
    if (piece == "all") return bad_selector(text, "'all' stands alone");
    const Result<std::uint64_t> added = add_piece(piece, text, collector);
    if (!added) return added.error();
    selected += *added;
    if (selected > kMaxSelected) return bad_selector(text, "names more than a million");
  }
  return collector.take();
}

}  // namespace tutti
