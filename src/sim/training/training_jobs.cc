#include "sim/training/training_jobs.h"

#include <algorithm>
#include <set>

#include "sim/csv_table.h"

namespace tutti {

Result<std::vector<TrainingJob>> read_training_jobs(const std::string& path) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  if (table->has("num_iteration") && !table->has("application"))
    return invalid_input(path + ":1: this is a trace for --benchmark arena-1280");
  std::vector<std::size_t> columns;
  for (const char* name : {"name", "time", "application", "num_replicas", "batch_size"}) {
    const Result<std::size_t> column = table->column(name);
    if (!column) return column.error();
    columns.push_back(*column);
  }
  std::vector<TrainingJob> jobs;
  std::set<std::string> names;
  for (std::size_t i = 0; i < table->rows(); ++i) {
    const Result<double> time = table->number(i, columns[1]);
    if (!time) return time.error();
    const Result<std::uint32_t> devices = table->count(i, columns[3]);
    if (!devices) return devices.error();
    const Result<double> batch = table->number(i, columns[4]);
    if (!batch) return batch.error();
    if (*time < 0) return table->error_at(i, "a job cannot come before the start");
    if (*devices < 1) return table->error_at(i, "a job needs at least one device");
    if (*batch < 1) return table->error_at(i, "a batch has at least one sample");
    jobs.push_back(
        {table->text(i, columns[0]), table->text(i, columns[2]), *time, *devices, *batch});
    if (!names.insert(jobs.back().name).second)
      return table->error_at(i, "a second job '" + jobs.back().name + "'");
  }
  if (jobs.empty()) return invalid_input(path + ": has no jobs");
  std::stable_sort(jobs.begin(), jobs.end(), [](const TrainingJob& a, const TrainingJob& b) {
    return a.submit_s < b.submit_s;
  });
  return jobs;
}

}  // namespace tutti
