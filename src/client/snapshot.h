#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/client.h"

namespace tutti {

// One file, link or empty folder of a work directory, for a snapshot.
struct SnapshotFile {
  std::string path;  // relative to the folder, with '/'
  std::string link;  // target, for a link; empty: a regular file or a folder
  std::uint32_t mode = 0;
  std::string sha256;  // of the content, in lower-case hexadecimal
  bool is_folder = false;

  bool has_content() const { return link.empty() && !is_folder; }
};

// Which part of a folder a snapshot takes.
struct SnapshotChoice {
  std::vector<std::string> paths;  // relative files and folders; empty, or "." among them: all
  std::string ignored;             // further rules, as in a .gitignore at the top
  std::string digests;             // file in which digests are remembered; empty: none
  bool given_rules_alone = false;  // a .gitignore or .tuttiignore does not count
  std::string home;                // of the daemon, never taken; empty: not known
};

// Told how many files are done, of how many.
using SnapshotStep = std::function<void(std::size_t done, std::size_t all)>;

// Every file and link below `folder` that is not ignored by a .gitignore or .tuttiignore, and the
// folders of which nothing else is taken, sorted by path. In a git repository the rules of the
// folders above and .git/info/exclude count too, unless they ignore `folder` itself. `.git`,
// the daemon's home and what is neither file, link nor folder is left out. Content whose digest is
// not remembered is read by `keeper` if that is a daemon on this machine, otherwise here.
Result<std::vector<SnapshotFile>> list_snapshot(const std::string& folder, const SnapshotStep& step,
                                                const SnapshotChoice& choice = {},
                                                Client* keeper = nullptr);

// Stores the work directory as it is now with the daemon, which is asked for its home; only content
// that it does not have yet is read or sent. Returns the digest under which it is kept.
Result<std::string> take_snapshot(Client& client, const std::string& folder,
                                  const SnapshotStep& step, const SnapshotChoice& choice = {});

}  // namespace tutti
