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
constexpr std::size_t kStageColumns = 6;  // of "≈ 16" and a gap

std::string cell_error(const PlannedCell& one) {
  const SpeedEstimate& estimate = *one.estimate;
  if (one.basis == StageBasis::kModel && !estimate.measured) return "model";
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

// "2", "≈ 2" if the best plan is guessed to have so many; "any": those of the best plan are not
// known.
std::string cell_stages(const PlannedCell& one) {
  if (one.cell.stages == 0) return "any";
  return (one.basis == StageBasis::kBestPlan ? "≈ " : "") + std::to_string(one.cell.stages);
}

// Whether the row above is about the same devices.
bool continues_shape(const CellPlan& plan, std::size_t position) {
  return position > 0 && plan.cells[position].cell.shape == plan.cells[position - 1].cell.shape;
}

std::vector<Table::Cell> cell_row(const CellPlan& plan, std::size_t position, double least) {
  const PlannedCell& one = plan.cells[position];
  const bool chosen = plan.chosen == position;
  const Style shape = chosen                            ? Style::kBold
                      : continues_shape(plan, position) ? Style::kDim
                                                        : Style::kPlain;
  std::vector<Table::Cell> row;
  row.emplace_back(chosen ? "▶" : "", Style::kGreen);
  row.emplace_back(one.cell.shape.type, shape);
  row.emplace_back(std::to_string(one.cell.shape.devices()), shape);
  row.emplace_back(std::to_string(one.cell.shape.nodes), shape);
  if (!one.estimate) {
    for (const char* text : {"?", "?", "no data", "-", "-", "-"})
      row.emplace_back(text, Style::kDim);
    return row;
  }
  row.emplace_back(cell_stages(one));
  const SpeedEstimate& estimate = *one.estimate;
  const Style style = estimate.fits ? Style::kPlain : Style::kRed;
  row.emplace_back(cell_time(estimate), style);
  row.emplace_back(cell_error(one), estimate.measured ? Style::kPlain : Style::kDim);
  const bool costs = estimate.fits && least > 0;
  row.emplace_back(costs ? fmt::format("{:.2f}×", one.cost() / least) : "-");
  row.emplace_back(format_memory(least_memory(one.cell)));
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

// Names of devices stand once, before the first of their bars.
std::string cell_chart(const CellPlan& plan, const Screen& screen) {
  double best = 0;
  std::size_t widest = 0;
  for (const PlannedCell& one : plan.cells) {
    if (!one.estimate || !one.estimate->fits) continue;
    best = std::max(best, samples_per_second(plan, one));
    widest = std::max(widest, columns_of(printable(shape_text(one.cell.shape))));
  }
  if (best <= 0) return {};
  std::string text = "\n" + screen.styled(Style::kBold, "Samples per second, by stages") + "\n";
  const DeviceShape* named = nullptr;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& one = plan.cells[i];
    if (!one.estimate || !one.estimate->fits) continue;
    const bool again = named != nullptr && *named == one.cell.shape;
    const std::string name = again ? "" : printable(shape_text(one.cell.shape));
    named = &one.cell.shape;
    const double rate = samples_per_second(plan, one);
    const Style style = plan.chosen == i         ? Style::kGreen
                        : one.estimate->measured ? Style::kCyan
                                                 : Style::kDim;
    const std::string stages = cell_stages(one);
    text += std::string(widest - columns_of(name), ' ') + name +
            std::string(kStageColumns - std::min(columns_of(stages), kStageColumns), ' ') + stages +
            "  " + screen.styled(style, cell_bar(rate / best)) + " " +
            (one.estimate->measured ? "" : "≈ ") + cell_rate(rate) + "\n";
  }
  return text;
}

// "4 × A100 in ≈ 2 stages".
std::string cell_text(const PlannedCell& one) {
  const std::string shape = shape_text(one.cell.shape);
  if (one.cell.stages == 0 || one.cell.shape.devices() == 1) return shape;
  return fmt::format("{} in {} {}", shape, cell_stages(one),
                     one.cell.stages == 1 ? "stage" : "stages");
}

// Nothing that is known fits.
std::string why_none(const CellPlan& plan) {
  const auto known =
      std::count_if(plan.cells.begin(), plan.cells.end(),
                    [](const PlannedCell& cell) { return cell.estimate.has_value(); });
  if (known == 0)
    return "Nothing like it was measured: the first that is listed and free is taken.";
  const bool all = static_cast<std::size_t>(known) == plan.cells.size();
  return all ? "None of them fits: it takes more GPUs, or GPUs with more memory."
             : "None that is known fits; of the others, of which nothing like it was measured, the "
               "first that is listed and free is taken.";
}

std::string why_taken(const CellPlan& plan) {
  if (!plan.chosen) return why_none(plan);
  const PlannedCell& one = plan.cells[*plan.chosen];
  const SpeedEstimate& estimate = *one.estimate;
  const auto usable =
      std::count_if(plan.cells.begin(), plan.cells.end(),
                    [](const PlannedCell& cell) { return cell.estimate && cell.estimate->fits; });
  std::string text = fmt::format(
      "{}: {} an iteration ({}), the shortest of {} that fit.", cell_text(one), cell_time(estimate),
      estimate.measured ? "measured" : "estimated " + cell_error(one), usable);
  const double least = least_cost(plan);
  if (one.cost() <= least) return text + " No other costs less.";
  const auto percent = std::lround((1 - least / one.cost()) * 100);
  if (percent == 0) return text;
  for (const PlannedCell& other : plan.cells) {
    if (!other.estimate || !other.estimate->fits || other.cost() > least) continue;
    return text + fmt::format(" {} would cost {}% less and take {:.1f} times as long.",
                              cell_text(other), percent,
                              other.estimate->seconds / estimate.seconds);
  }
  return text;
}

const char* basis_name(StageBasis basis) {
  switch (basis) {
    case StageBasis::kKnown:
      return "known";
    case StageBasis::kBestPlan:
      return "best_plan";
    case StageBasis::kModel:
      return "model";
  }
  return "";
}

json::object cell_to_json(const PlannedCell& one) {
  const DeviceShape& shape = one.cell.shape;
  json::object out{{"type", text_to_json(shape.type)},
                   {"nodes", shape.nodes},
                   {"devices_per_node", shape.per_node},
                   {"devices", shape.devices()},
                   {"stages", one.cell.stages == 0 ? json::value() : json::value(one.cell.stages)},
                   {"stages_basis", basis_name(one.basis)},
                   {"least_memory_mib", least_memory(one.cell).value},
                   {"known", one.estimate.has_value()}};
  if (!one.estimate) return out;
  const SpeedEstimate& estimate = *one.estimate;
  out["measured"] = estimate.measured;
  out["fits"] = estimate.fits;
  out["fit_chance"] = estimate.chance;
  if (estimate.seconds <= 0) return out;
  out["seconds"] = estimate.seconds;
  out["device_seconds"] = one.cost();
  if (one.basis == StageBasis::kModel) return out;
  out["seconds_low"] = estimate.seconds / estimate.factor;
  out["seconds_high"] = estimate.seconds * estimate.factor;
  return out;
}

// A part of `count` cells; without any there is none.
std::string part_text(double part, std::size_t count) {
  return count == 0 ? "-" : fmt::format("{:.1f}%", part * 100);
}

json::value part_to_json(double part, std::size_t count) {
  return count == 0 ? json::value() : json::value(part);
}

std::vector<Table::Cell> check_row(const SpeedCheck& one, const std::string& name, Style style) {
  return {{name, style},
          grouped(one.cells),
          part_text(one.median_error, one.cells),
          part_text(one.p90_error, one.cells),
          part_text(one.inside, one.cells),
          one.unfit == 0 ? "-" : fmt::format("{} of {}", one.unfit_found, one.unfit),
          one.cells == 0 ? "-" : grouped(one.false_alarms),
          part_text(one.memory_accuracy(), one.cells + one.unfit)};
}

}  // namespace

std::string shape_text(const DeviceShape& shape) {
  const std::string devices = fmt::format("{} × {}", shape.per_node, shape.type);
  return shape.nodes == 1 ? devices : fmt::format("{} nodes of {}", shape.nodes, devices);
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
               {"STAGES", Align::kRight},
               {"ITERATION", Align::kRight},
               {"ERROR", Align::kRight},
               {"COST", Align::kRight},
               {"NEED", Align::kRight},
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
               {"STAGES", Align::kRight},
               {"ITERATION", Align::kRight}});
  for (const auto& [cell, speed] : speeds.entries())
    table.add({cell.run.name, format_parameters(cell.run.parameters),
               std::to_string(cell.run.batch), cell.shape.type, std::to_string(cell.shape.nodes),
               std::to_string(cell.shape.per_node),
               cell.stages == 0 ? "any" : std::to_string(cell.stages),
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
  for (const SpeedCheck& one : checks)
    table.add(one.model.empty() ? check_row(one, "all", Style::kBold)
                                : check_row(one, one.model, Style::kPlain));
  table.add(check_row(sizes, "all, new sizes", Style::kPlain));
  return table.render(screen) +
         "Every measured cell against what all others say of it; for new sizes, against what cells "
         "of\n"
         "other sizes say. IN BAND: the part that is within the error that was told, which is "
         "meant\n"
         "for four of five.\n";
}

json::object checks_to_json(const std::vector<SpeedCheck>& checks, const SpeedCheck& sizes) {
  const auto check = [](const SpeedCheck& one) {
    return json::object{
        {"cells", one.cells},
        {"median_error", part_to_json(one.median_error, one.cells)},
        {"p90_error", part_to_json(one.p90_error, one.cells)},
        {"in_band", part_to_json(one.inside, one.cells)},
        {"unfit", one.unfit},
        {"unfit_found", one.unfit_found},
        {"false_alarms", one.false_alarms},
        {"memory_accuracy", part_to_json(one.memory_accuracy(), one.cells + one.unfit)}};
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
