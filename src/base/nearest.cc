#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tutti {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// What users of other schedulers write, and what it is called here.
struct OtherName {
  std::string_view other;
  std::string_view ours;
};
constexpr OtherName kOtherNames[] = {
    {"depends", "after"},       {"depends_on", "after"},
    {"dependency", "after"},    {"dependencies", "after"},
    {"needs", "after"},         {"cwd", "workdir"},
    {"chdir", "workdir"},       {"directory", "workdir"},
    {"working_dir", "workdir"}, {"working_directory", "workdir"},
    {"walltime", "time"},       {"ncpus", "cpus"},
    {"cores", "cpus"},          {"threads", "cpus"},
    {"job_name", "name"},       {"partition", "labels"},
    {"constraint", "labels"},   {"queue", "labels"},
};

// Without the dashes of an option, and with those between words as in a field.
std::string plain(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string text(word);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string_view by_other_name(std::string_view word,
                               std::span<const std::string_view> candidates) {
  const std::string wanted = plain(word);
  for (const OtherName& name : kOtherNames) {
    if (wanted != name.other) continue;
    for (const std::string_view candidate : candidates)
      if (plain(candidate) == name.ours) return candidate;
  }
  return {};
}

// The longest candidate that the word goes on from, else the shortest that goes on from the word.
std::string_view by_beginning(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLeast = 3;
  const std::string wanted = plain(word);
  std::string_view begins;
  std::string_view begun;
  for (const std::string_view candidate : candidates) {
    const std::string known = plain(candidate);
    if (known.size() >= kLeast && wanted.starts_with(known) && candidate.size() > begins.size())
      begins = candidate;
    if (wanted.size() >= kLeast && known.starts_with(wanted) &&
        (begun.empty() || candidate.size() < begun.size()))
      begun = candidate;
  }
  return begins.empty() ? begun : begins;
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return {};
  if (const auto ours = by_other_name(word, candidates); !ours.empty()) return ours;
  std::string_view best;
  // In a long word more can be wrong before it could be anything.
  const std::size_t most = std::max<std::size_t>(word.size() / 3, 1) + (word.size() >= 9 ? 1 : 0);
  std::size_t best_distance = most + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best.empty() ? by_beginning(word, candidates) : best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : ", did you mean '" + std::string(near) + "'?";
}

}  // namespace tutti
