#pragma once

#include <cstdint>
#include <vector>

namespace tutti {

// A part of a file that has content on the disk.
struct FileExtent {
  std::int64_t at = 0;
  std::int64_t size = 0;
  bool operator==(const FileExtent&) const = default;
};

// The parts of an open file between its holes, in order; all but the last one end at a multiple of
// a page. Small holes count as content, and so does all of a file whose file system does not tell.
// Moves the file's position to its beginning.
std::vector<FileExtent> extents_of(int fd, std::int64_t size);

}  // namespace tutti
