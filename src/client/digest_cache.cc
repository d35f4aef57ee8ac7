#include "client/digest_cache.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace tutti {
namespace {

constexpr std::string_view kFirstLine = "tutti-digests 1";
// About 15 MB of text. When there are more, those of older folders have to be read again.
constexpr std::size_t kMostEntries = 100'000;
// Longer than two changes of a file can be apart and have the same time: that is two seconds on the
// coarsest file systems. Whose times are not whole hundredths of a second has a finer clock, of at
// most ten milliseconds; the rest is for servers whose clocks differ a little.
constexpr std::int64_t kSettled = 2'000'000'000;
constexpr std::int64_t kSettledFine = 500'000'000;
constexpr std::int64_t kCoarse = 10'000'000;

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

DigestCache::DigestCache(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) load();
}

void DigestCache::load() {
  std::ifstream file(path_);
  std::string line;
  if (!std::getline(file, line) || line != kFirstLine) return;
  while (std::getline(file, line) && entries_.size() < kMostEntries) {
    std::istringstream fields(line);
    Key key;
    Entry entry;
    fields >> key.first >> key.second >> entry.size >> entry.modified >> entry.changed >>
        entry.sha256;
    if (fields && entry.sha256.size() == 64) entries_[key] = std::move(entry);
  }
}

std::string DigestCache::find(const struct stat& status) const {
  const auto found = entries_.find({status.st_dev, status.st_ino});
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  const bool same = entry.size == status.st_size && entry.modified == nanoseconds(status.st_mtim) &&
                    entry.changed == nanoseconds(status.st_ctim);
  return same ? entry.sha256 : "";
}

void DigestCache::remember(const struct stat& status, const std::string& sha256, std::int64_t now) {
  const std::int64_t changed = nanoseconds(status.st_ctim);
  const std::int64_t settled = changed % kCoarse == 0 ? kSettled : kSettledFine;
  if (path_.empty() || changed > now - settled) return;
  if (entries_.size() >= kMostEntries) entries_.clear();
  entries_[{status.st_dev, status.st_ino}] = {status.st_size, nanoseconds(status.st_mtim), changed,
                                              sha256};
  fresh_ = true;
}

void DigestCache::save() {
  if (!fresh_) return;
  fresh_ = false;
  const std::string aside = path_ + ".new." + std::to_string(::getpid());
  std::ofstream file(aside, std::ios::trunc);
  file << kFirstLine << '\n';
  for (const auto& [key, entry] : entries_) {
    file << key.first << ' ' << key.second << ' ' << entry.size << ' ' << entry.modified << ' '
         << entry.changed << ' ' << entry.sha256 << '\n';
  }
  file.close();
  if (!file || std::rename(aside.c_str(), path_.c_str()) != 0) ::unlink(aside.c_str());
}

}  // namespace tutti
