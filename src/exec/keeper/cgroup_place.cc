#include <unistd.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exec/keeper/cgroups.h"
#include "exec/keeper/folders.h"

namespace tutti {
namespace {

// A mounted hierarchy: where, which part of it, and for which controllers.
struct Mount {
  std::string root;
  std::string point;
  std::string type;
  std::string options;
};

bool has_word(std::string_view text, std::string_view word, std::string_view separators) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

std::vector<Mount> read_mounts() {
  std::vector<Mount> mounts;
  const Result<std::string> text = read_small_file("/proc/self/mountinfo");
  if (!text) return mounts;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - cgroup");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skipped;
    std::string source;
    Mount mount;
    left >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    right >> mount.type >> source >> mount.options;
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// This process's group in the hierarchy of `controller` ("" for the unified one).
std::string own_group(std::string_view controller) {
  const Result<std::string> text = read_small_file("/proc/self/cgroup");
  if (!text) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool match = controller.empty() ? names.empty() : has_word(names, controller, ",");
    if (match) return line.substr(second + 1);
  }
  return {};
}

std::string folder_of(const Mount& mount, const std::string& group) {
  std::string_view below = group;
  if (mount.root != "/" && below.starts_with(mount.root)) below.remove_prefix(mount.root.size());
  const std::string folder = mount.point + (below == "/" ? "" : std::string(below));
  return access(folder.c_str(), F_OK) == 0 ? folder : mount.point;
}

bool writable(const std::string& folder) {
  return access(folder.c_str(), W_OK) == 0;
}

// The nearest group above this process that hands both controllers down and may be written to. Its
// own group cannot serve: a group with processes in it hands nothing down.
std::string unified_place(const Mount& mount) {
  std::string folder = folder_of(mount, own_group(""));
  while (folder.size() >= mount.point.size()) {
    const Result<std::string> handed = read_small_file(folder + "/cgroup.subtree_control");
    const bool both =
        handed && has_word(*handed, "memory", " \n") && has_word(*handed, "cpu", " \n");
    if (both && writable(folder) && writable(folder + "/cgroup.procs")) return folder;
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string::npos || slash == 0) break;
    folder.resize(slash);
  }
  return {};
}

}  // namespace

CgroupPlace find_cgroup_place() {
  CgroupPlace place;
  const std::vector<Mount> mounts = read_mounts();
  for (const Mount& mount : mounts) {
    if (mount.type == "cgroup2") place.unified = unified_place(mount);
    if (!place.unified.empty()) return place;
  }
  for (const Mount& mount : mounts) {
    if (mount.type != "cgroup") continue;
    for (const auto& [name, folder] :
         {std::pair{"memory", &place.memory}, std::pair{"cpu", &place.cpu}}) {
      if (!has_word(mount.options, name, ",")) continue;
      const std::string candidate = folder_of(mount, own_group(name));
      if (writable(candidate)) *folder = candidate;
    }
  }
  return place;
}

}  // namespace tutti
