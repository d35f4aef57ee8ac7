#include "sim/training/tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "sim/csv_table.h"

namespace tutti {
namespace {

struct Constants {
  const char* name;
  std::uint32_t epochs;
  double restart_s;
  double slowdown;
  bool adapts;
};

// What belongs to the benchmarks and stands in no table.
constexpr Constants kApplications[] = {
    {"bert", 2, 120, 1.2, true},        {"cifar10", 100, 50, 1.8, true},
    {"deepspeech2", 80, 25, 1.2, true}, {"imagenet", 90, 250, 1.2, true},
    {"ncf", 10, 15, 1.5, false},        {"yolov3", 50, 80, 1.2, true}};

std::string known_names() {
  std::string names;
  for (const Constants& one : kApplications)
    names.append(names.empty() ? "" : ", ").append(one.name);
  return names;
}

// The measurements of a layout are those of all its rotations.
Layout smallest_rotation(const Layout& layout) {
  Layout best = layout;
  Layout turned = layout;
  for (std::size_t i = 1; i < layout.size(); ++i) {
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    best = std::min(best, turned);
  }
  return best;
}

Result<Layout> layout_of(const CsvTable& table, std::size_t row, std::size_t column) {
  Layout layout;
  for (const char digit : table.text(row, column)) {
    if (digit < '1' || digit > '9') return table.error_at(row, "a placement has digits 1 to 9");
    layout.push_back(static_cast<std::uint32_t>(digit - '0'));
  }
  if (layout.empty()) return table.error_at(row, "the placement is empty");
  return layout;
}

std::uint32_t sum_of(const Layout& layout) {
  return std::accumulate(layout.begin(), layout.end(), 0u);
}

// The columns of these names; an error names the one that is not there.
Result<std::vector<std::size_t>> columns_of(const CsvTable& table,
                                            std::initializer_list<const char*> names) {
  std::vector<std::size_t> columns;
  for (const char* name : names) {
    const Result<std::size_t> column = table.column(name);
    if (!column) return column.error();
    columns.push_back(*column);
  }
  return columns;
}

// The numbers of a row in these columns.
Result<std::vector<double>> numbers_of(const CsvTable& table, std::size_t row,
                                       std::span<const std::size_t> columns) {
  std::vector<double> numbers;
  for (const std::size_t column : columns) {
    const Result<double> number = table.number(row, column);
    if (!number) return number.error();
    numbers.push_back(*number);
  }
  return numbers;
}

double between(double x, double x0, double x1, double y0, double y1) {
  return y0 + (x - x0) * (y1 - y0) / (x1 - x0);
}

StepTime between(double x, double x0, double x1, const StepTime& y0, const StepTime& y1) {
  if (x0 == x1) return y0;
  return {between(x, x0, x1, y0.step_s, y1.step_s), between(x, x0, x1, y0.sync_s, y1.sync_s)};
}

}  // namespace

Result<StepTable> StepTable::read(const std::string& folder, const std::string& segments,
                                  const std::string& type) {
  StepTable table;
  if (auto done = table.read_placements(folder + "/placements-" + type + ".csv"); !done)
    return done.error();
  if (auto done = table.read_scalability(folder + "/scalability-" + type + ".csv"); !done)
    return done.error();
  if (std::filesystem::exists(segments)) {
    if (auto done = table.read_segments(segments); !done) return done.error();
  }
  return table;
}

Result<void> StepTable::read_placements(const std::string& path) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  const auto columns = columns_of(*table, {"local_bsz", "step_time", "sync_time"});
  if (!columns) return columns.error();
  const Result<std::size_t> placement = table->column("placement");
  if (!placement) return placement.error();
  for (std::size_t i = 0; i < table->rows(); ++i) {
    const Result<Layout> layout = layout_of(*table, i, *placement);
    if (!layout) return layout.error();
    const auto numbers = numbers_of(*table, i, *columns);
    if (!numbers) return numbers.error();
    const auto local = static_cast<std::uint32_t>((*numbers)[0]);
    if (local < 1) return table->error_at(i, "the batch is not positive");
    rows_[smallest_rotation(*layout)].push_back({local, {(*numbers)[1], (*numbers)[2]}});
    std::uint32_t& most = most_by_devices_[sum_of(*layout)];
    most = std::max(most, local);
    least_local_ = least_local_ == 0 ? local : std::min(least_local_, local);
    most_local_ = std::max(most_local_, local);
  }
  for (auto& [layout, rows] : rows_) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.local_batch < b.local_batch; });
  }
  return {};
}

Result<void> StepTable::read_scalability(const std::string& path) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  const auto columns = columns_of(*table, {"num_nodes", "num_replicas", "local_bsz"});
  if (!columns) return columns.error();
  for (std::size_t i = 0; i < table->rows(); ++i) {
    std::array<std::uint32_t, 3> counts{};
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const Result<std::uint32_t> count = table->count(i, (*columns)[c]);
      if (!count) return count.error();
      counts[c] = *count;
    }
    scaled_.push_back({counts[0], counts[1], counts[2]});
  }
  return {};
}

Result<void> StepTable::read_segments(const std::string& path) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  const auto columns =
      columns_of(*table, {"N", "K", "m0", "m1", "step0", "step1", "sync0", "sync1"});
  if (!columns) return columns.error();
  for (std::size_t i = 0; i < table->rows(); ++i) {
    const auto numbers = numbers_of(*table, i, *columns);
    if (!numbers) return numbers.error();
    const std::vector<double>& n = *numbers;
    const auto whole = [&](std::size_t c) { return static_cast<std::uint32_t>(n[c]); };
    segments_[{whole(0), whole(1)}].push_back({whole(2), whole(3), {n[4], n[6]}, {n[5], n[7]}});
  }
  return {};
}

std::optional<StepTime> StepTable::find(const Layout& layout, std::uint32_t local_batch) const {
  const auto found = rows_.find(smallest_rotation(layout));
  if (found == rows_.end()) {
    const auto segments =
        segments_.find({static_cast<std::uint32_t>(layout.size()), sum_of(layout)});
    if (segments == segments_.end()) return std::nullopt;
    for (const Segment& one : segments->second) {
      if (local_batch >= one.first && local_batch <= one.last)
        return between(local_batch, one.first, one.last, one.at_first, one.at_last);
    }
    return std::nullopt;
  }
  const std::vector<Row>& rows = found->second;
  if (local_batch < rows.front().local_batch || local_batch > rows.back().local_batch)
    return std::nullopt;
  if (rows.size() == 1) return rows[0].time;
  std::size_t i = 1;
  while (rows[i].local_batch < local_batch) ++i;
  return between(local_batch, rows[i - 1].local_batch, rows[i].local_batch, rows[i - 1].time,
                 rows[i].time);
}

std::uint32_t StepTable::most_local(const Layout& layout) const {
  const auto found = rows_.find(smallest_rotation(layout));
  if (found != rows_.end()) return found->second.back().local_batch;
  const std::uint32_t devices = sum_of(layout);
  std::uint32_t most = 0;
  for (const Scaled& one : scaled_) {
    if (one.nodes >= layout.size() && one.devices >= devices)
      most = std::max(most, one.local_batch);
  }
  return most;
}

std::optional<std::uint32_t> StepTable::most_local_with(std::uint32_t devices) const {
  const auto found = most_by_devices_.find(devices);
  if (found == most_by_devices_.end()) return std::nullopt;
  return found->second;
}

double StepTable::one_device_speed() const {
  const auto found = rows_.find(Layout{1});
  if (found == rows_.end()) return 0;
  double slowest = 0;
  for (const Row& row : found->second) slowest = std::max(slowest, row.time.step_s);
  return found->second.back().local_batch / slowest;
}

Result<LearningTable> LearningTable::read(const std::string& folder,
                                          const std::string& application) {
  LearningTable learning;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("validation-") || !name.ends_with(".csv")) continue;
    Curve curve;
    const char* const digits = name.data() + 11;
    if (std::from_chars(digits, name.data() + name.size() - 4, curve.batch).ec != std::errc())
      return invalid_input("'" + entry.path().string() + "' does not tell its batch");
    const Result<CsvTable> table = CsvTable::read(entry.path().string());
    if (!table) return table.error();
    const auto columns = columns_of(*table, {"progress", "iteration", "grad_sqr", "grad_var"});
    if (!columns) return columns.error();
    for (std::size_t i = 0; i < table->rows(); ++i) {
      const auto numbers = numbers_of(*table, i, *columns);
      if (!numbers) return numbers.error();
      curve.progress.push_back((*numbers)[0]);
      curve.iteration.push_back((*numbers)[1]);
      curve.stats.push_back({(*numbers)[2], (*numbers)[3]});
    }
    learning.curves_.push_back(std::move(curve));
  }
  if (learning.curves_.empty())
    return not_found("there is no table of '" + application + "' in '" + folder + "'");
  std::sort(learning.curves_.begin(), learning.curves_.end(),
            [](const Curve& a, const Curve& b) { return a.batch < b.batch; });
  std::size_t epochs = learning.curves_[0].progress.size();
  for (const Curve& curve : learning.curves_) epochs = std::min(epochs, curve.progress.size());
  for (std::size_t e = 0; e < epochs; ++e) {
    double least = learning.curves_[0].progress[e];
    for (const Curve& curve : learning.curves_) least = std::min(least, curve.progress[e]);
    learning.goals_.push_back(least);
  }
  return learning;
}

LearningTable::Between LearningTable::around(double batch) const {
  if (batch < first_batch() || batch > largest_batch()) return {};
  const auto high = std::find_if(curves_.begin(), curves_.end(),
                                 [&](const Curve& curve) { return curve.batch >= batch; });
  return {high->batch == batch ? &*high : &*(high - 1), &*high};
}

std::optional<GradientStats> LearningTable::stats(double batch, std::uint32_t epoch) const {
  const Between curves = around(batch);
  if (curves.low == nullptr) return std::nullopt;
  const GradientStats& low = curves.low->stats[epoch];
  if (curves.low == curves.high) return low;
  const GradientStats& high = curves.high->stats[epoch];
  const double width = curves.high->batch - curves.low->batch;
  const double up = batch - curves.low->batch;
  const double down = curves.high->batch - batch;
  return GradientStats{(up * high.sqr + down * low.sqr) / width,
                       (up * high.var + down * low.var) / width};
}

double LearningTable::goal(std::uint32_t epochs) const {
  return epochs == 0 ? 0 : goals_[epochs - 1];
}

double LearningTable::iterations(double batch, std::uint32_t epoch) const {
  const Between curves = around(batch);
  if (curves.low == nullptr) return 0;
  if (curves.low == curves.high) return curves.low->iteration[epoch];
  const double width = curves.high->batch - curves.low->batch;
  return ((batch - curves.low->batch) * curves.high->iteration[epoch] +
          (curves.high->batch - batch) * curves.low->iteration[epoch]) /
         width;
}

Result<Application> read_application(const std::string& data, const std::string& name,
                                     std::span<const std::string> types) {
  const auto* known = std::find_if(std::begin(kApplications), std::end(kApplications),
                                   [&](const Constants& one) { return one.name == name; });
  if (known == std::end(kApplications))
    return invalid_input("the benchmark knows no application '" + name + "', only " +
                         known_names());
  const std::string folder = data + "/sia/traces/" + name;
  Result<LearningTable> learning = LearningTable::read(folder, name);
  if (!learning) return learning.error();
  if (learning->epochs() < known->epochs)
    return invalid_input("the tables of '" + name + "' end before its last epoch");
  Application application{.name = name,
                          .learning = std::move(*learning),
                          .steps = {},
                          .epochs = known->epochs,
                          .restart_s = known->restart_s,
                          .slowdown = known->slowdown,
                          .adapts = known->adapts};
  for (const std::string& type : types) {
    Result<StepTable> steps =
        StepTable::read(folder, data + "/physics/segments/" + name + "-" + type + ".csv", type);
    if (!steps) return steps.error();
    application.steps.emplace(type, std::move(*steps));
  }
  return application;
}

}  // namespace tutti
