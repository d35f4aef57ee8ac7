#include "client/folder_walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/spec/gitignore.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint32_t mode_of(const fs::file_status& status) {
  return static_cast<std::uint32_t>(status.permissions()) & 0777u;
}

std::string joined(const std::string& folder, const std::string& path) {
  return folder.empty() || path.empty() ? folder + path : folder + "/" + path;
}

// Walks a tree and keeps what is not ignored.
class Walk {
 public:
  Walk(fs::path root, const SnapshotChoice& choice)
      : root_(std::move(root)), reads_rules_(!choice.given_rules_alone) {
    has_home_ = !choice.home.empty() && ::stat(choice.home.c_str(), &home_) == 0;
    if (reads_rules_) read_rules_above();
    if (!choice.ignored.empty()) rules_.add(choice.ignored, root_in_repository_);
    for (const std::string& path : choice.paths) {
      const std::string plain = fs::path(path).lexically_normal().string();
      chosen_.push_back(plain.ends_with('/') ? plain.substr(0, plain.size() - 1) : plain);
    }
    const bool all = std::find(chosen_.begin(), chosen_.end(), ".") != chosen_.end();
    if (all) chosen_.clear();
  }

  Result<std::vector<SnapshotFile>> run() {
    if (is_home(root_))
      return invalid_input("snapshot: " + root_.string() +
                           " is Tutti's own home, which is not copied; use another work directory");
    if (auto done = visit(""); !done) return done.error();
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  // Of a repository whose folders above the root have rules for it too. Those that ignore the root
  // itself would leave nothing of a folder that was asked for, so they do not count.
  void read_rules_above() {
    std::error_code failure;
    const fs::path root = fs::canonical(root_, failure);
    if (failure) return;  // told when it is visited
    fs::path folder = root;
    while (!fs::exists(folder / ".git", failure)) {
      if (folder == folder.parent_path()) return;
      folder = folder.parent_path();
    }
    read_rules(folder / ".git/info/exclude", "");
    if (folder == root) return;
    for (const fs::path& name : root.lexically_relative(folder)) {
      read_rules_of(folder, root_in_repository_);
      folder /= name;
      root_in_repository_ = joined(root_in_repository_, name.string());
    }
    if (rules_.ignored(root_in_repository_, true)) rules_ = {};
  }

  // `in_repository`: the folder as rules see it.
  void read_rules_of(const fs::path& folder, const std::string& in_repository) {
    for (const char* name : {".gitignore", ".tuttiignore"})
      read_rules(folder / name, in_repository);
  }

  void read_rules(const fs::path& file, const std::string& in_repository) {
    std::error_code failure;
    if (fs::is_regular_file(file, failure)) rules_.add(slurp(file), in_repository);
  }

  Result<void> visit(const std::string& folder) {
    const fs::path here = folder.empty() ? root_ : root_ / folder;
    const std::size_t before = files_.size();
    std::error_code failure;
    if (reads_rules_) read_rules_of(here, joined(root_in_repository_, folder));
    fs::directory_iterator at(here, failure);
    // One that was removed since it was seen; the top must be there.
    if (failure == std::errc::no_such_file_or_directory && !folder.empty()) return {};
    if (failure) return io_error("snapshot: cannot read " + here.string(), failure.value());
    for (; at != fs::directory_iterator(); at.increment(failure)) {
      if (auto done = take(*at, folder); !done) return done;
      if (failure) break;
    }
    if (failure) return io_error("snapshot: cannot read " + here.string(), failure.value());
    if (!folder.empty() && files_.size() == before && is_chosen(folder, false))
      files_.push_back({folder, {}, mode_of(fs::status(here, failure)), {}, true});
    return {};
  }

  Result<void> take(const fs::directory_entry& entry, const std::string& folder) {
    const std::string name = entry.path().filename().string();
    if (name == ".git") return {};
    const std::string path = joined(folder, name);
    std::error_code failure;
    const fs::file_status status = entry.symlink_status(failure);
    if (rules_.ignored(joined(root_in_repository_, path), fs::is_directory(status))) return {};
    if (!is_chosen(path, fs::is_directory(status))) return {};
    if (fs::is_directory(status)) return is_home(entry.path()) ? Result<void>() : visit(path);
    if (fs::is_symlink(status)) {
      const auto target = fs::read_symlink(entry.path(), failure);
      if (failure == std::errc::no_such_file_or_directory) return {};
      if (failure) return io_error("snapshot: cannot read the link " + path, failure.value());
      files_.push_back({path, target.string(), 0, {}});
    } else if (fs::is_regular_file(status)) {
      files_.push_back({path, {}, mode_of(status), {}});
    }
    return {};
  }

  // By whatever name: it has secrets, and all copies made before.
  bool is_home(const fs::path& folder) const {
    struct stat status {};
    return has_home_ && ::stat(folder.c_str(), &status) == 0 && status.st_dev == home_.st_dev &&
           status.st_ino == home_.st_ino;
  }

  // What is chosen, what is below that, and the folders that lead there.
  bool is_chosen(const std::string& path, bool folder) const {
    if (chosen_.empty()) return true;
    return std::any_of(chosen_.begin(), chosen_.end(), [&](const std::string& one) {
      return path == one || path.starts_with(one + "/") || (folder && one.starts_with(path + "/"));
    });
  }

  fs::path root_;
  std::string root_in_repository_;  // the root as rules see it; empty: they start there
  bool reads_rules_;
  struct stat home_ {};
  bool has_home_ = false;
  std::vector<std::string> chosen_;
  IgnoreRules rules_;
  std::vector<SnapshotFile> files_;
};

}  // namespace

Result<std::vector<SnapshotFile>> walk_folder(const std::string& folder,
                                              const SnapshotChoice& choice) {
  return Walk(folder, choice).run();
}

}  // namespace tutti
