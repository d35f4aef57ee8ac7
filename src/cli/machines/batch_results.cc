#include "cli/machines/batch_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "client/views.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code failure;
  return fs::exists(fs::symlink_status(path, failure));
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

}  // namespace

BatchResults::BatchResults(const std::string& folder, const std::string& batch)
    : folder_(folder + "/job_results"), prefix_(fs::path(batch).lexically_normal().string()) {
  std::replace(prefix_.begin(), prefix_.end(), '/', '_');
}

std::string BatchResults::name(std::uint32_t line) const {
  return fmt::format("{}.{}", prefix_, line);
}

std::string BatchResults::path(std::uint32_t line) const {
  return folder_ + "/" + name(line);
}

std::string BatchResults::record(std::uint32_t line) const {
  return folder_ + "/.tutti/" + name(line);
}

std::string BatchResults::pattern(const std::string& ending) const {
  return escaped(folder_ + "/" + prefix_) + ".%l" + ending;
}

bool BatchResults::has_files(std::uint32_t line) const {
  return exists(path(line)) || exists(path(line) + ".out");
}

BatchResults::Past BatchResults::past(Session& session, std::uint32_t line) const {
  std::uint64_t job = 0;
  std::uint64_t task = 0;
  std::ifstream file(record(line));
  if (!(file >> job >> task)) return has_files(line) ? Past::kDone : Past::kNone;
  auto answer = session.client().request(
      "GET", fmt::format("/v1/jobs/{}/tasks?from={}&limit=1", job, task), {});
  const auto tasks = answer ? task_views(*answer) : std::vector<TaskView>();
  // Another daemon's job: only the folder, which appears as a whole, proves a result.
  if (tasks.empty()) return exists(path(line)) ? Past::kDone : Past::kNone;
  const std::string& state = tasks.front().state;
  if (state == "succeeded") return has_files(line) ? Past::kDone : Past::kNone;
  if (state == "queued" || state == "starting" || state == "running") return Past::kUnderWay;
  return has_files(line) ? Past::kFailed : Past::kNone;
}

void BatchResults::forget(std::uint32_t line) const {
  std::error_code ignored;
  fs::remove_all(path(line), ignored);
  for (const char* ending : {".out", ".err"}) fs::remove(path(line) + ending, ignored);
}

Result<void> BatchResults::remember(std::uint64_t job,
                                    const std::vector<std::uint32_t>& lines) const {
  std::error_code failure;
  fs::create_directories(folder_ + "/.tutti", failure);
  if (failure) return io_error("cannot make the folder " + folder_, failure.value());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::ofstream file(record(lines[i]), std::ios::trunc);
    file << job << ' ' << i + 1 << '\n';
    file.close();
    if (!file) return io_error("cannot write " + record(lines[i]), errno);
  }
  return {};
}

}  // namespace tutti
