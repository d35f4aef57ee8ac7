#include "cli/output/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/model_text.h"
#include "core/spec/quantity.h"
#include "core/speed/speed_text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr int kWidestCellBar = 40;

std::string cell_error(const SpeedEstimate& estimate) {
  if (estimate.measured) return "measured";
  const double error = (estimate.factor - 1) * 100;
  return error < 1000 ? fmt::format("± {:.0f}%", error) : "unsure";
}

std::string cell_time(const SpeedEstimate& estimate) {
  if (estimate.measured) return estimate.fits ? iteration_text(estimate.seconds) : "-";
  return "≈ " + iteration_text(estimate.seconds);
}

std::string cell_fit(const SpeedEstimate& estimate) {
  if (estimate.measured) return estimate.fits ? "fits" : "does not fit";
  if (!estimate.fits) return "≈ does not fit";
  return estimate.chance > 0.95 ? "≈ fits" : fmt::format("≈ fits ({:.0f}%)", estimate.chance * 100);
}

// The least cost of what fits; zero: nothing does.
double least_cost(const CellPlan& plan) {
  double least = 0;
  for (const PlannedCell& one : plan.cells) {
    if (!one.estimate || !one.estimate->fits) continue;
    if (least == 0 || one.cost() < least) least = one.cost();
  }
  return least;
}

double samples_per_second(const CellPlan& plan, const PlannedCell& one) {
  if (!one.estimate || one.estimate->seconds <= 0) return 0;
  return static_cast<double>(plan.run.batch) / one.estimate->seconds;
}

std::string cell_rate(double rate) {
  if (rate <= 0) return "-";
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.3g}", rate);
}

std::vector<Table::Cell> cell_row(const CellPlan& plan, std::size_t position, double least) {
  const PlannedCell& one = plan.cells[position];
  const bool chosen = plan.chosen == position;
  std::vector<Table::Cell> row;
  row.emplace_back(chosen ? "▶" : "", Style::kGreen);
  row.emplace_back(one.cell.shape.type, chosen ? Style::kBold : Style::kPlain);
  row.emplace_back(std::to_string(one.cell.shape.devices()));
  row.emplace_back(std::to_string(one.cell.shape.nodes));
  if (!one.estimate) {
    for (const char* text : {"?", "no data", "-", "-", "-"}) row.emplace_back(text, Style::kDim);
    return row;
  }
  const SpeedEstimate& estimate = *one.estimate;
  const Style style = estimate.fits ? Style::kPlain : Style::kRed;
  row.emplace_back(cell_time(estimate), style);
  row.emplace_back(cell_error(estimate), estimate.measured ? Style::kPlain : Style::kDim);
  row.emplace_back(cell_rate(samples_per_second(plan, one)));
  const bool costs = estimate.fits && least > 0;
  row.emplace_back(costs ? fmt::format("{:.2f}×", one.cost() / least) : "-");
  row.emplace_back(cell_fit(estimate), style);
  return row;
}

// A bar of eighths of a character.
std::string cell_bar(double part) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * kWidestCellBar * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text.empty() ? "▏" : text;
}

std::string cell_chart(const CellPlan& plan, const Screen& screen) {
  double best = 0;
  std::size_t widest = 0;
  for (const PlannedCell& one : plan.cells) {
    if (!one.estimate || !one.estimate->fits) continue;
    best = std::max(best, samples_per_second(plan, one));
    widest = std::max(widest, columns_of(printable(shape_text(one.cell.shape))));
  }
  if (best <= 0) return {};
  std::string text = "\n" + screen.styled(Style::kBold, "Samples per second") + "\n";
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& one = plan.cells[i];
    if (!one.estimate || !one.estimate->fits) continue;
    const std::string name = printable(shape_text(one.cell.shape));
    const double rate = samples_per_second(plan, one);
    const Style style = plan.chosen == i         ? Style::kGreen
                        : one.estimate->measured ? Style::kCyan
                                                 : Style::kDim;
    text += std::string(widest - columns_of(name), ' ') + name + "  " +
            screen.styled(style, cell_bar(rate / best)) + " " +
            (one.estimate->measured ? "" : "≈ ") + cell_rate(rate) + "\n";
  }
  return text;
}

std::string why_taken(const CellPlan& plan) {
  if (!plan.chosen)
    return "Nothing like it was measured: the first that is listed and free is taken.";
  const PlannedCell& one = plan.cells[*plan.chosen];
  const SpeedEstimate& estimate = *one.estimate;
  const auto usable =
      std::count_if(plan.cells.begin(), plan.cells.end(),
                    [](const PlannedCell& cell) { return cell.estimate && cell.estimate->fits; });
  std::string text =
      fmt::format("{}: {} an iteration ({}), the shortest of {} that fit.",
                  shape_text(one.cell.shape), cell_time(estimate),
                  estimate.measured ? "measured" : "estimated " + cell_error(estimate), usable);
  const double least = least_cost(plan);
  if (one.cost() <= least) return text + " No other costs less.";
  for (const PlannedCell& other : plan.cells) {
    if (!other.estimate || !other.estimate->fits || other.cost() > least) continue;
    return text + fmt::format(" {} would cost {:.0f}% less and take {:.1f} times as long.",
                              shape_text(other.cell.shape), (1 - least / one.cost()) * 100,
                              other.estimate->seconds / estimate.seconds);
  }
  return text;
}

json::object cell_to_json(const PlannedCell& one) {
  const DeviceShape& shape = one.cell.shape;
  json::object out{{"type", text_to_json(shape.type)},
                   {"nodes", shape.nodes},
                   {"devices_per_node", shape.per_node},
                   {"devices", shape.devices()},
                   {"least_memory_mib", least_memory(one.cell).value},
                   {"known", one.estimate.has_value()}};
  if (!one.estimate) return out;
  const SpeedEstimate& estimate = *one.estimate;
  out["measured"] = estimate.measured;
  out["fits"] = estimate.fits;
  out["fit_chance"] = estimate.chance;
  if (estimate.seconds <= 0) return out;
  out["seconds"] = estimate.seconds;
  out["seconds_low"] = estimate.seconds / estimate.factor;
  out["seconds_high"] = estimate.seconds * estimate.factor;
  out["device_seconds"] = one.cost();
  return out;
}

std::string part_text(double part) {
  return fmt::format("{:.1f}%", part * 100);
}

}  // namespace

std::string shape_text(const DeviceShape& shape) {
  const std::string devices = fmt::format("{} × {}", shape.per_node, shape.type);
  return shape.nodes == 1 ? devices : fmt::format("{} nodes of {}", shape.nodes, devices);
}

std::string iteration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g}ms", seconds * 1000);
  return seconds < 1000 ? fmt::format("{:.3g}s", seconds) : fmt::format("{:.0f}s", seconds);
}

CellPlan plan_of(const ModelRun& run, std::vector<PlannedCell> cells) {
  CellPlan plan{run, std::move(cells), std::nullopt, {}};
  std::vector<std::optional<SpeedEstimate>> speeds;
  for (const PlannedCell& one : plan.cells) speeds.push_back(one.estimate);
  const std::vector<std::size_t> order = by_preference(speeds);
  if (!order.empty() && speeds[order[0]] && speeds[order[0]]->fits) plan.chosen = order[0];
  plan.why = why_taken(plan);
  return plan;
}

std::string render_cells(const CellPlan& plan, const Screen& screen) {
  using Align = Table::Align;
  Table table({{""},
               {"GPU"},
               {"COUNT", Align::kRight},
               {"NODES", Align::kRight},
               {"ITERATION", Align::kRight},
               {"ERROR", Align::kRight},
               {"SAMPLES/S", Align::kRight},
               {"COST", Align::kRight},
               {"MEMORY"}});
  const double least = least_cost(plan);
  for (std::size_t i = 0; i < plan.cells.size(); ++i) table.add(cell_row(plan, i, least));
  const std::string title =
      fmt::format("{} with {} parameters, batch {}", plan.run.name,
                  format_parameters(plan.run.parameters), grouped(plan.run.batch));
  return screen.styled(Style::kBold, printable(title)) + "\n" + table.render(screen) +
         cell_chart(plan, screen) + "\n" + (plan.chosen ? "Taken: " : "") + printable(plan.why) +
         "\n";
}

json::object plan_to_json(const CellPlan& plan) {
  json::array cells;
  for (const PlannedCell& one : plan.cells) cells.push_back(cell_to_json(one));
  json::object out{{"model", text_to_json(plan.run.name)},
                   {"parameters", plan.run.parameters},
                   {"batch", plan.run.batch},
                   {"cells", std::move(cells)}};
  if (plan.chosen)
    out["chosen"] = *plan.chosen;
  else
    out["chosen"] = nullptr;
  out["why"] = text_to_json(plan.why);
  return out;
}

std::string render_speeds(const SpeedTable& speeds, const Screen& screen) {
  using Align = Table::Align;
  Table table({{"MODEL"},
               {"PARAMS", Align::kRight},
               {"BATCH", Align::kRight},
               {"GPU"},
               {"NODES", Align::kRight},
               {"PER NODE", Align::kRight},
               {"ITERATION", Align::kRight}});
  for (const auto& [cell, speed] : speeds.entries())
    table.add({cell.run.name, format_parameters(cell.run.parameters),
               std::to_string(cell.run.batch), cell.shape.type, std::to_string(cell.shape.nodes),
               std::to_string(cell.shape.per_node),
               speed.fits() ? Table::Cell(iteration_text(speed.seconds))
                            : Table::Cell("does not fit", Style::kRed)});
  return table.render(screen);
}

std::string render_checks(const std::vector<SpeedCheck>& checks, const SpeedCheck& sizes,
                          const Screen& screen) {
  using Align = Table::Align;
  Table table({{"MODEL"},
               {"CELLS", Align::kRight},
               {"MEDIAN ERROR", Align::kRight},
               {"P90 ERROR", Align::kRight},
               {"IN BAND", Align::kRight},
               {"UNFIT FOUND", Align::kRight},
               {"FALSE ALARMS", Align::kRight},
               {"MEMORY RIGHT", Align::kRight}});
  const auto add = [&](const SpeedCheck& one, const std::string& name, Style style) {
    table.add({{name, style},
               grouped(one.cells),
               part_text(one.median_error),
               part_text(one.p90_error),
               part_text(one.inside),
               fmt::format("{} of {}", one.unfit_found, one.unfit),
               grouped(one.false_alarms),
               part_text(one.memory_accuracy())});
  };
  for (const SpeedCheck& one : checks)
    add(one, one.model.empty() ? "all" : one.model,
        one.model.empty() ? Style::kBold : Style::kPlain);
  add(sizes, "all, new sizes", Style::kPlain);
  return table.render(screen) +
         "Every measured cell against what all others say of it; for new sizes, against what cells "
         "of\n"
         "other sizes say. IN BAND: the part that is within the error that was told, which is "
         "meant\n"
         "for four of five.\n";
}

json::object checks_to_json(const std::vector<SpeedCheck>& checks, const SpeedCheck& sizes) {
  const auto check = [](const SpeedCheck& one) {
    return json::object{{"cells", one.cells},
                        {"median_error", one.median_error},
                        {"p90_error", one.p90_error},
                        {"in_band", one.inside},
                        {"unfit", one.unfit},
                        {"unfit_found", one.unfit_found},
                        {"false_alarms", one.false_alarms},
                        {"memory_accuracy", one.memory_accuracy()}};
  };
  json::array models;
  for (const SpeedCheck& one : checks) {
    if (one.model.empty()) continue;
    json::object row = check(one);
    row["model"] = text_to_json(one.model);
    models.push_back(std::move(row));
  }
  return {
      {"all", check(checks.back())}, {"models", std::move(models)}, {"new_sizes", check(sizes)}};
}

}  // namespace tutti
