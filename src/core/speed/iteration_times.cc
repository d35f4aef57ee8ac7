#include "core/speed/iteration_times.h"

#include <algorithm>
#include <charconv>

#include "core/speed/speed_text.h"

namespace tutti {
namespace {

constexpr std::string_view kIterationWord = "iteration_time";

std::optional<double> time_in(std::string_view line) {
  const std::size_t at = line.find(kIterationWord);
  if (at == line.npos) return std::nullopt;
  std::string_view rest = line.substr(at + kIterationWord.size());
  const std::size_t mark = rest.find_first_not_of(" \t\"'");
  if (mark == rest.npos || (rest[mark] != ':' && rest[mark] != '=')) return std::nullopt;
  rest.remove_prefix(mark + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  double seconds = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  const bool fine = error == std::errc() && seconds > 0 && seconds <= kMostIterationSeconds;
  return fine ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::vector<double> parse_iteration_times(std::string_view output) {
  std::vector<double> times;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    if (const auto time = time_in(output.substr(0, end))) times.push_back(*time);
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return times;
}

std::optional<double> settled_time(const std::vector<double>& times) {
  if (times.size() < 2) return std::nullopt;
  const std::size_t warming = std::max<std::size_t>(times.size() / 5, 1);
  std::vector<double> settled(times.begin() + static_cast<std::ptrdiff_t>(warming), times.end());
  std::sort(settled.begin(), settled.end());
  const std::size_t middle = settled.size() / 2;
  if (settled.size() % 2 == 1) return settled[middle];
  return (settled[middle - 1] + settled[middle]) / 2;
}

}  // namespace tutti
