#include "exec/local/file_content.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "exec/local/file_extents.h"

namespace tutti {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

// The content of one file to another; holes stay holes.
bool copy_extents(int source, int target) {
  struct stat status {};
  if (fstat(source, &status) != 0) return false;
  for (const FileExtent& extent : extents_of(source, status.st_size)) {
    off_t at = extent.at;
    if (lseek(target, at, SEEK_SET) < 0) return false;
    for (std::int64_t left = extent.size; left > 0;) {
      const ssize_t n = sendfile(target, source, &at, static_cast<std::size_t>(left));
      if (n < 0) return false;
      if (n == 0) break;
      left -= n;
    }
  }
  return ftruncate(target, status.st_size) == 0;
}

// Hands pieces of a content on and sums them up.
class HashedPieces {
 public:
  explicit HashedPieces(const ContentSink& sink) : sink_(sink) {}

  // What the file has from its position on, up to `end`.
  Result<void> read_up_to(int fd, const std::string& path, std::int64_t end) {
    // One for each thread: most files are much smaller.
    thread_local std::string chunk(kPiece, '\0');
    while (at_ < end) {
      const auto most = static_cast<std::size_t>(std::min(end - at_, std::int64_t{kPiece}));
      const ssize_t n = read(fd, chunk.data(), most);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return io_error("cannot read '" + path + "'", errno);
      if (n == 0) return {};
      if (Result<void> taken = add({chunk.data(), static_cast<std::size_t>(n)}); !taken)
        return taken;
    }
    return {};
  }
  Result<void> skip_to(int fd, const std::string& path, std::int64_t at) {
    static const std::string zeros(kPiece, '\0');
    while (at_ < at) {
      const auto size = static_cast<std::size_t>(std::min(at - at_, std::int64_t{kPiece}));
      if (Result<void> taken = add({zeros.data(), size}); !taken) return taken;
    }
    if (lseek(fd, at_, SEEK_SET) < 0) return io_error("cannot read '" + path + "'", errno);
    return {};
  }
  std::int64_t at() const { return at_; }
  std::string finish() { return hash_.finish(); }

 private:
  Result<void> add(std::string_view bytes) {
    at_ += static_cast<std::int64_t>(bytes.size());
    hash_.add(bytes);
    return sink_(bytes);
  }

  const ContentSink& sink_;
  Sha256 hash_;
  std::int64_t at_ = 0;
};

Result<void> write_all(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot write '" + path + "'", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

bool is_zero(std::string_view bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// To ask costs more than to hash a small piece.
Result<void> still_wanted(std::int64_t size, const std::string& path,
                          const Snapshots::Wanted& wanted) {
  constexpr std::int64_t kAsk = std::int64_t{16} * kPiece;
  if (!wanted || size % kAsk != 0 || wanted()) return {};
  return Error{ErrorCode::kUnavailable, "nobody waits any more for '" + path + "'"};
}

}  // namespace

Result<void> copy_file(const std::string& from, const std::string& to, std::uint32_t mode) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return io_error("cannot read '" + from + "'", errno);
  const UniqueFd target(
      open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!target) return io_error("cannot make '" + to + "'", errno);
  if (ioctl(target.get(), FICLONE, source.get()) != 0 && !copy_extents(source.get(), target.get()))
    return io_error("cannot write '" + to + "'", errno);
  if (fchmod(target.get(), mode & 0777) != 0) return io_error("cannot write '" + to + "'", errno);
  return {};
}

Result<std::string> read_hashed(int fd, const std::string& path, const ContentSink& sink) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return io_error("cannot read '" + path + "'", errno);
  HashedPieces pieces(sink);
  for (const FileExtent& extent : extents_of(fd, status.st_size)) {
    Result<void> done = pieces.skip_to(fd, path, extent.at);
    if (done) done = pieces.read_up_to(fd, path, extent.at + extent.size);
    if (!done) return done.error();
    // It was cut off meanwhile.
    if (pieces.at() < extent.at + extent.size) return pieces.finish();
  }
  Result<void> done = pieces.skip_to(fd, path, status.st_size);
  // What was added meanwhile.
  if (done) done = pieces.read_up_to(fd, path, INT64_MAX);
  if (!done) return done.error();
  return pieces.finish();
}

Result<std::string> copy_hashed(int source, const std::string& path, const std::string& fresh,
                                const Snapshots::Wanted& wanted) {
  const UniqueFd target(open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) return io_error("cannot make '" + fresh + "'", errno);
  // Then of the copy: the file itself may change meanwhile.
  if (ioctl(target.get(), FICLONE, source) == 0)
    return read_hashed(target.get(), fresh,
                       [&, size = std::int64_t{0}](std::string_view bytes) mutable {
                         size += static_cast<std::int64_t>(bytes.size());
                         return still_wanted(size, path, wanted);
                       });
  std::int64_t size = 0;
  Result<std::string> digest = read_hashed(source, path, [&](std::string_view bytes) {
    size += static_cast<std::int64_t>(bytes.size());
    if (Result<void> go_on = still_wanted(size, path, wanted); !go_on) return go_on;
    if (!is_zero(bytes)) return write_all(target.get(), fresh, bytes);
    if (lseek(target.get(), size, SEEK_SET) >= 0) return Result<void>();
    return Result<void>(io_error("cannot write '" + fresh + "'", errno));
  });
  if (digest && ftruncate(target.get(), size) != 0)
    return io_error("cannot write '" + fresh + "'", errno);
  return digest;
}

}  // namespace tutti
