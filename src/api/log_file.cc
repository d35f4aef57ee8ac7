#include "api/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// Opened for each piece and closed again: following a hundred logs holds no descriptor.
struct OpenLog {
  UniqueFd fd;  // none: there is nothing to read
  std::uint64_t size = 0;
};

Result<OpenLog> open_log(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  // ENXIO: a socket.
  if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ENXIO)) return OpenLog{};
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0)
    return io_error("cannot open the log " + shown(path), errno);
  if (!S_ISREG(facts.st_mode)) return OpenLog{};
  return OpenLog{std::move(fd), static_cast<std::uint64_t>(facts.st_size)};
}

Result<std::string> read_at(int fd, const std::string& path, std::uint64_t offset,
                            std::size_t most) {
  std::string bytes(most, '\0');
  std::size_t got = 0;
  while (got < most) {
    const ssize_t n = ::pread(fd, bytes.data() + got, most - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read the log " + shown(path), errno);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace

std::string log_file(const std::string& log_folder, const JobSpec& spec, AttemptId attempt,
                     LogStream stream) {
  std::string path = log_path(attempt.task.job, spec, attempt, stream);
  return path.starts_with('/') ? path : log_folder + "/" + path;
}

Result<std::string> read_log(const std::string& path, std::uint64_t offset, std::size_t most) {
  const auto log = open_log(path);
  if (!log) return log.error();
  if (offset >= log->size) return std::string();
  return read_at(log->fd.get(), path, offset,
                 static_cast<std::size_t>(std::min<std::uint64_t>(most, log->size - offset)));
}

Result<std::uint64_t> log_size(const std::string& path) {
  const auto log = open_log(path);
  if (!log) return log.error();
  return log->size;
}

Result<std::uint64_t> tail_offset(const std::string& path, std::uint64_t lines) {
  constexpr std::size_t kBlock = 64 * 1024;
  const auto log = open_log(path);
  if (!log) return log.error();
  const std::uint64_t size = log->size;
  if (lines == 0) return size;
  std::uint64_t end = size;
  std::uint64_t newlines = 0;
  while (end > 0) {
    const std::uint64_t begin = end > kBlock ? end - kBlock : 0;
    const auto block = read_at(log->fd.get(), path, begin, static_cast<std::size_t>(end - begin));
    if (!block) return block.error();
    for (std::size_t i = block->size(); i-- > 0;) {
      const bool last_byte = begin + i + 1 == size;
      if ((*block)[i] != '\n' || last_byte) continue;
      if (++newlines == lines) return begin + i + 1;
    }
    end = begin;
  }
  return std::uint64_t{0};
}

}  // namespace tutti
