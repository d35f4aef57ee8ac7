#include "exec/local/known_blobs.h"

namespace tutti {
namespace {

// Smaller ones are hashed as quickly as they are looked up.
constexpr off_t kSmallest = off_t{1} << 20;
constexpr std::size_t kMost = 10'000;

}  // namespace

KnownBlobs& KnownBlobs::of_this_process() {
  static KnownBlobs known;
  return known;
}

KnownBlobs::Seen KnownBlobs::seen(const struct stat& file) {
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

void KnownBlobs::saw_whole(const std::string& sha256, const struct stat& file) {
  if (file.st_size < kSmallest) return;
  const std::lock_guard lock(mutex_);
  if (blobs_.size() >= kMost) blobs_.clear();
  blobs_[sha256] = seen(file);
}

bool KnownBlobs::knows(const std::string& sha256, const struct stat& file) const {
  if (file.st_size < kSmallest) return false;
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(sha256);
  return found != blobs_.end() && found->second == seen(file);
}

}  // namespace tutti
