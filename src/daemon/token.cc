#include "daemon/token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/random_word.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

constexpr std::size_t kShortestToken = 16;

Result<std::string> make_token(const std::string& path) {
  std::string token = random_word() + random_word();
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string line = token + "\n";
  if (!fd || ::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return io_error(fmt::format("cannot write the token file {}", path), errno);
  return token;
}

}  // namespace

Result<std::string> read_or_make_token(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return make_token(path);
  if (!fd) return io_error(fmt::format("cannot read the token file {}", path), errno);
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0)
    return io_error(fmt::format("cannot read the token file {}", path), errno);
  if ((facts.st_mode & 077) != 0)
    return Error{ErrorCode::kDenied,
                 fmt::format("others can read the token file {}: make it private with chmod 600 {}",
                             path, path)};
  std::array<char, 4096> text{};
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return io_error(fmt::format("cannot read the token file {}", path), errno);
  std::string token(text.data(), static_cast<std::size_t>(size));
  token = token.substr(0, token.find_first_of("\r\n"));
  if (token.size() < kShortestToken)
    return invalid_input(
        fmt::format("the token in {} is shorter than {} characters", path, kShortestToken));
  return token;
}

}  // namespace tutti
