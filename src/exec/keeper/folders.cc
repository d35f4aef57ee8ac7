#include "exec/keeper/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <limits>

#include "base/unique_fd.h"

namespace tutti {
namespace {

constexpr std::size_t kSmall = 1u << 20;

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return io_error("cannot read the file '" + path + "'", errno);
  std::string content;
  char part[4096];
  for (;;) {
    const ssize_t n = read(fd.get(), part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read the file '" + path + "'", errno);
    if (n == 0) return content;
    content.append(part, static_cast<std::size_t>(n));
    if (content.size() > most) {
      return Error{ErrorCode::kCorrupt, "the file '" + path + "' is larger than it can be"};
    }
  }
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return io_error("cannot make the folder '" + path + "'", errno);
}

bool make_parent_folders(int base_fd, const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdirat(base_fd, folder.c_str(), 0777) != 0 && errno != EEXIST) return false;
  }
  return true;
}

Result<void> make_folders(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return io_error("cannot make the folder '" + path + "'", failed.value());
  return {};
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

Result<std::string> set_aside(const std::string& path) {
  std::string aside;
  std::error_code failed;
  for (int number = 1; aside.empty() || std::filesystem::exists(aside, failed); ++number)
    aside = path + "." + std::to_string(number);
  if (rename(path.c_str(), aside.c_str()) == 0) return aside;
  return io_error("cannot rename '" + path + "'", errno);
}

Result<void> replace_file(const std::string& path, std::string_view content, bool lasting) {
  // Two threads may write the same file at once.
  static std::atomic<unsigned> number{0};
  const std::string fresh =
      path + ".new." + std::to_string(getpid()) + "." + std::to_string(number++);
  const UniqueFd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  bool good = static_cast<bool>(fd);
  for (std::string_view rest = content; good && !rest.empty();) {
    const ssize_t n = write(fd.get(), rest.data(), rest.size());
    good = n > 0;
    if (good) rest.remove_prefix(static_cast<std::size_t>(n));
  }
  good = good && (!lasting || fdatasync(fd.get()) == 0);
  if (good && rename(fresh.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  unlink(fresh.c_str());
  return io_error("cannot write the file '" + path + "'", error);
}

Result<std::string> read_small_file(const std::string& path) {
  return read_file(path, kSmall);
}

Result<std::string> read_file(const std::string& path) {
  return read_file(path, std::numeric_limits<std::size_t>::max());
}

}  // namespace tutti
