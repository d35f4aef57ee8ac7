#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tutti {

// Large contents that this process has hashed. Only a power cut damages what was whole then, and
// the process does not outlive one; a file that was changed since is not known any more. All
// threads.
class KnownBlobs {
 public:
  static KnownBlobs& of_this_process();

  void saw_whole(const std::string& sha256, const struct stat& file);
  bool knows(const std::string& sha256, const struct stat& file) const;

 private:
  struct Seen {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified_s = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Seen&) const = default;
  };
  static Seen seen(const struct stat& file);

  mutable std::mutex mutex_;
  std::map<std::string, Seen> blobs_;
};

}  // namespace tutti
