#include "exec/local/home_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/spec/text.h"
#include "exec/local/remove_file.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

std::optional<JobId> number_of(std::string_view digits) {
  const auto number = parse_digits(digits, INT64_MAX);
  // Only as Tutti writes it: "007" is somebody else's.
  if (!number || *number == 0 || std::to_string(*number) != digits) return std::nullopt;
  return JobId(*number);
}

// Whose output it is in logs/NNN: ID (a folder of tasks), ID.out, ID.err, ID.aN.out, ID.aN.err.
std::optional<JobId> owner_of_log(std::string_view name) {
  const std::size_t dot = name.find('.');
  const auto owner = number_of(name.substr(0, dot));
  if (!owner || dot == name.npos) return owner;
  std::string_view rest = name.substr(dot + 1);
  if (rest.starts_with('a')) {
    const std::size_t next = rest.find('.');
    if (next == rest.npos || !number_of(rest.substr(1, next - 1))) return std::nullopt;
    rest.remove_prefix(next + 1);
  }
  return rest == "out" || rest == "err" ? owner : std::nullopt;
}

// Whose it is in work/: ID, ID.new while it is being made, ID.of, the note of its snapshot, and
// ID.N, the folder of another job that had the number in a database which was there before.
std::optional<JobId> owner_of_copy(std::string_view name) {
  const std::size_t dot = name.find('.');
  const auto owner = number_of(name.substr(0, dot));
  if (!owner || dot == name.npos) return owner;
  const std::string_view rest = name.substr(dot + 1);
  const bool known = rest == "new" || rest == "of" || rest.starts_with("of.new.");
  return known || number_of(rest) ? owner : std::nullopt;
}

Files remove(const fs::path& path, const Removal& removal);

// A folder that its owner may not change is made so first.
Files remove_folder(const fs::path& path, const struct stat& status, const Removal& removal) {
  if (!removal.dry_run && (status.st_mode & S_IRWXU) != S_IRWXU)
    static_cast<void>(chmod(path.c_str(), status.st_mode | S_IRWXU));
  Files removed;
  for (const fs::path& entry : entries_of(path)) removed += remove(entry, removal);
  if (removal.dry_run || rmdir(path.c_str()) == 0)
    removed.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  else if (errno != ENOTEMPTY || access(path.c_str(), R_OK | X_OK) != 0)
    ++removed.stuck;
  return removed;
}

// Files of somebody else, such as those of a container that ran as root, are stuck, and so is what
// cannot be reached: a path may be longer than the kernel takes.
Files remove(const fs::path& path, const Removal& removal) {
  struct stat status {};
  if (!removal.goes_on()) return {};
  if (lstat(path.c_str(), &status) != 0) return {.stuck = errno == ENOENT ? 0U : 1U};
  if (S_ISDIR(status.st_mode)) return remove_folder(path, status, removal);
  return remove_file(path, status, removal);
}

using Owner = std::optional<JobId> (*)(std::string_view name);

// Of the entries of one folder those that belong to jobs that are gone.
Files remove_in(const fs::path& folder, Owner owner_of, const HomeFiles::Test& gone,
                const Removal& removal) {
  Files removed;
  for (const fs::path& path : entries_of(folder)) {
    if (!removal.goes_on()) break;
    const auto owner = owner_of(path.filename().string());
    if (owner && gone(*owner)) removed += remove(path, removal);
  }
  return removed;
}

}  // namespace

Result<Files> LocalHomeFiles::remove_of(const Test& gone, const Removal& removal) {
  Files removed = remove_in(home_ + "/work", owner_of_copy, gone, removal);
  for (const fs::path& folder : entries_of(home_ + "/logs")) {
    // What is not where Tutti would have put it is somebody else's.
    const auto gone_here = [&, name = folder.filename().string()](JobId job) {
      return std::to_string(job.value / 1000) == name && gone(job);
    };
    removed += remove_in(folder, owner_of_log, gone_here, removal);
  }
  return removed;
}

}  // namespace tutti
