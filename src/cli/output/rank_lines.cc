#include "cli/output/rank_lines.h"

#include <fmt/format.h>

#include <array>

namespace tutti {
namespace {

// A line that never ends is shown in pieces.
constexpr std::size_t kLongest = 64 * 1024;

constexpr std::array kColours = {Style::kCyan, Style::kYellow, Style::kGreen, Style::kBold,
                                 Style::kDim};

}  // namespace

RankLines::RankLines(Screen& screen, std::uint64_t ranks)
    : screen_(screen),
      digits_(static_cast<int>(std::to_string(ranks > 0 ? ranks - 1 : 0).size())) {}

RankLines::~RankLines() {
  for (const auto& [source, line] : begun_) {
    if (!line.empty()) show(source.first, source.second, line);
  }
}

void RankLines::add(std::int64_t rank, bool errors, std::string_view bytes) {
  std::string& begun = begun_[{rank, errors}];
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    begun += bytes.substr(0, end);
    if (end == bytes.npos && begun.size() < kLongest) return;
    show(rank, errors, begun);
    begun.clear();
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
  }
}

void RankLines::show(std::int64_t rank, bool errors, std::string_view line) {
  const Style colour = kColours[static_cast<std::size_t>(rank) % kColours.size()];
  std::string text = screen_.styled(colour, fmt::format("[{:>{}}]", rank, digits_));
  text += ' ';
  text += line;
  text += '\n';
  if (errors)
    screen_.err(text);
  else
    screen_.out(text);
}

}  // namespace tutti
