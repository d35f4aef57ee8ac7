#include "exec/local/file_extents.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>

namespace tutti {
namespace {

// To tell of a hole and to seek costs more than to copy a few zeros.
constexpr std::int64_t kSmallestHole = std::int64_t{64} << 10;
constexpr std::int64_t kPage = 4096;

}  // namespace

std::vector<FileExtent> extents_of(int fd, std::int64_t size) {
  std::vector<FileExtent> extents;
  std::int64_t at = 0;  // up to which everything is told
  while (at < size) {
    const std::int64_t begin = ::lseek(fd, at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // a hole up to the end
    const std::int64_t hole = begin < 0 ? -1 : ::lseek(fd, begin, SEEK_HOLE);
    if (hole <= begin) {
      extents = {{0, size}};
      break;
    }
    if (extents.empty() || begin - at >= kSmallestHole)
      extents.push_back({begin < kSmallestHole ? 0 : begin - begin % kPage, 0});
    at = std::min((hole + kPage - 1) / kPage * kPage, size);
    extents.back().size = at - extents.back().at;
  }
  ::lseek(fd, 0, SEEK_SET);
  return extents;
}

}  // namespace tutti
