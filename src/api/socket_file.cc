#include "api/socket_file.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/spec/text.h"

namespace tutti {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return invalid_input("the socket's path " + shown(path) + " must have 1 to " +
                         std::to_string(sizeof address.sun_path - 1) +
                         " bytes; choose a shorter home");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Makes way for a new socket file.
Result<void> remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? Result<void>()
                           : Result<void>(io_error("cannot look at " + shown(path), errno));
  }
  if (!S_ISSOCK(facts.st_mode)) {
    return conflict(shown(path) + " is in the way: it is no socket; remove it");
  }
  const UniqueFd probe = new_socket();
  if (!probe) return io_error("cannot create a socket", errno);
  // Busy means that somebody is there, too.
  const bool answers = ::connect(probe.get(), generic(address), sizeof address) == 0;
  if (answers || errno == EAGAIN) {
    return conflict("another daemon answers on " + shown(path));
  }
  if (errno != ECONNREFUSED) return io_error("cannot tell who owns " + shown(path), errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return io_error("cannot remove the old socket " + shown(path), errno);
  }
  return {};
}

}  // namespace

Result<SocketFile> SocketFile::listen(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return address.error();
  if (const auto free = remove_stale(path, *address); !free) return free.error();
  SocketFile file;
  file.fd_ = new_socket();
  if (!file.fd_) return io_error("cannot create a socket", errno);
  const mode_t before = ::umask(0177);
  const int bound = ::bind(file.fd_.get(), generic(*address), sizeof *address);
  const int bind_error = errno;
  ::umask(before);
  if (bound != 0) return io_error("cannot create the socket " + shown(path), bind_error);
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) {
    file.path_ = path;
    file.device_ = facts.st_dev;
    file.inode_ = facts.st_ino;
  }
  if (::listen(file.fd_.get(), 1024) != 0)
    return io_error("cannot listen on " + shown(path), errno);
  return file;
}

SocketFile::~SocketFile() {
  struct stat facts {};
  if (path_.empty() || ::lstat(path_.c_str(), &facts) != 0) return;
  if (facts.st_dev == device_ && facts.st_ino == inode_) ::unlink(path_.c_str());
}

User user_of(unsigned uid) {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return {std::to_string(uid), "/"};
  }
  return {entry.pw_name, entry.pw_dir};
}

Result<Credentials> peer_credentials(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return io_error("cannot tell who is at the other end of a socket", errno);
  }
  return Credentials{static_cast<unsigned>(credentials.uid), credentials.pid};
}

}  // namespace tutti
