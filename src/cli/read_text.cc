#include "cli/read_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "core/spec/text.h"

namespace tutti {

Result<std::string> read_text(const std::string& path, std::size_t most) {
  UniqueFd opened(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return io_error("cannot read " + shown(path), errno);
  std::string text;
  std::string chunk(1 << 16, '\0');
  while (true) {
    const ssize_t got = ::read(opened.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot read " + shown(path), errno);
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most) {
      return Error{ErrorCode::kExhausted,
                   fmt::format("{} has more than {} MiB", shown(path), most >> 20)};
    }
  }
}

}  // namespace tutti
