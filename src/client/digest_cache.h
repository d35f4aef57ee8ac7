#pragma once

#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tutti {

std::int64_t nanoseconds(const timespec& time);

// Remembers the SHA-256 of files between calls of the program, so that what did not change is not
// read again. A file is the same if device, inode, size and the times of its last change are. It is
// only a help: a cache that cannot be read or written is as good as an empty one. One thread.
class DigestCache {
 public:
  // `path`: where it is kept; empty: it remembers nothing.
  explicit DigestCache(std::string path);

  // The digest of a file with this status, or empty.
  std::string find(const struct stat& status) const;
  // `now`: nanoseconds since 1970. A file that changed a moment ago, as the clock of its
  // file system goes, is not remembered: it may change again without another time.
  void remember(const struct stat& status, const std::string& sha256, std::int64_t now);
  // Writes what is new, as a whole.
  void save();

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // device and inode
  struct Entry {
    std::int64_t size = 0;
    std::int64_t modified = 0;
    std::int64_t changed = 0;
    std::string sha256;
  };

  void load();

  std::string path_;
  std::map<Key, Entry> entries_;
  bool fresh_ = false;
};

}  // namespace tutti
