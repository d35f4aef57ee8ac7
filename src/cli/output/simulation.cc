#include "cli/output/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

using Unit = Figure::Unit;
using Better = Figure::Better;

// What cannot be told apart is equally good: a quarter of a percent.
constexpr double kSame = 0.0025;

bool is_best(const std::vector<RunFigures>& runs, std::size_t line, std::size_t run) {
  const Figure& figure = runs[run].figures[line];
  if (figure.better == Better::kNeither || !figure.known) return false;
  double best = figure.value;
  bool differ = false;
  for (const RunFigures& other : runs) {
    const Figure& theirs = other.figures[line];
    if (!theirs.known) continue;
    best = figure.better == Better::kLess ? std::min(best, theirs.value)
                                          : std::max(best, theirs.value);
    differ = differ || std::abs(theirs.value - figure.value) >
                           kSame * std::max(std::abs(theirs.value), std::abs(figure.value));
  }
  return differ && std::abs(figure.value - best) <= kSame * std::abs(best);
}

// A line is worth showing if some run knows it, and if it says something: nobody needs to read of
// deadlines that nobody has.
bool is_shown(const std::vector<RunFigures>& runs, std::size_t line) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const RunFigures& run) { return run.figures[line].known; });
}

std::string heading(const std::vector<RunFigures>& runs, const Screen& screen) {
  const RunFigures& first = runs.front();
  std::string text = screen.styled(Style::kBold, printable(first.workload));
  text += fmt::format("  {} on {}\n", counted(first.jobs, "job"), printable(first.cluster));
  return text;
}

std::string notes_of(const std::vector<RunFigures>& runs, const Screen& screen) {
  std::string text;
  std::vector<std::string> said;
  for (const RunFigures& run : runs) {
    for (const std::string& note : run.notes) {
      if (std::find(said.begin(), said.end(), note) != said.end()) continue;
      said.push_back(note);
      text += screen.styled(Style::kYellow, "Note: " + printable(note)) + "\n";
    }
    if (run.finished == run.jobs) continue;
    const std::string who = runs.size() == 1 ? "" : " under " + run.policy;
    text += screen.styled(
        Style::kYellow,
        fmt::format("Note: {} did not finish{}; they count as ended when the simulation did.",
                    counted(run.jobs - run.finished, "job"), printable(who)));
    text += "\n";
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string figure_text(const Figure& figure) {
  if (!figure.known) return "-";
  switch (figure.unit) {
    case Unit::kSeconds:
      return figure.value < 0.0005
                 ? "0s"
                 : format_duration(Duration(static_cast<std::int64_t>(figure.value * 1e6)));
    case Unit::kMilliseconds:
      return fmt::format("{:.3g}ms", figure.value);
    case Unit::kHours:
      return fmt::format("{:.3g}h", figure.value);
    case Unit::kPart:
      return fmt::format("{:.1f} %", figure.value * 100);
    case Unit::kNumber:
      return grouped(static_cast<std::uint64_t>(figure.value));
    case Unit::kRatio:
      return fmt::format("{:.2f}", figure.value);
  }
  return {};
}

std::string render_simulation(const std::vector<RunFigures>& runs, const Screen& screen) {
  std::vector<Table::Column> columns = {{"", Table::Align::kLeft, 0}};
  for (const RunFigures& run : runs) {
    columns.push_back({run.policy, Table::Align::kRight, 0});
    columns.push_back({"", Table::Align::kLeft, 0});  // the star
  }
  Table table(std::move(columns));
  for (std::size_t line = 0; line < runs.front().figures.size(); ++line) {
    if (!is_shown(runs, line)) continue;
    std::vector<Table::Cell> row = {runs.front().figures[line].name};
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const bool best = runs.size() > 1 && is_best(runs, line, run);
      row.emplace_back(figure_text(runs[run].figures[line]), best ? Style::kGreen : Style::kPlain);
      row.emplace_back(best ? "*" : "", Style::kGreen);
    }
    table.add(std::move(row));
  }
  return heading(runs, screen) + "\n" + table.render(screen) + notes_of(runs, screen);
}

}  // namespace tutti
