#include "exec/ssh/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"
#include "exec/keeper/folders.h"
#include "exec/keeper/memory_text.h"

namespace tutti {

Result<void> write_output(const std::string& path, std::uint64_t offset, std::string_view bytes) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC;
  UniqueFd file(::open(path.c_str(), kFlags, 0644));
  if (!file && errno == ENOENT && make_parent_folders(AT_FDCWD, path))
    file = UniqueFd(::open(path.c_str(), kFlags, 0644));
  if (!file) return io_error("cannot write '" + path + "'", errno);
  if (offset == 0 && ::ftruncate(file.get(), 0) != 0 && errno != EINVAL)
    return io_error("cannot write '" + path + "'", errno);
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error("cannot write '" + path + "'", errno);
    offset += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

std::uint64_t size_of_output(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

std::string tail_of_output(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(kErrorTail, '\0');
  const auto size = static_cast<off_t>(size_of_output(path));
  const ssize_t n = file ? ::pread(file.get(), text.data(), text.size(),
                                   std::max<off_t>(size - static_cast<off_t>(kErrorTail), 0))
                         : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

}  // namespace tutti
