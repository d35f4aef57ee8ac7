#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti {

// A listening unix socket and its file, which only its user may use. Removes the file at the end if
// it is still its own.
class SocketFile {
 public:
  // Replaces a file on which nobody answers; kConflict if somebody does.
  static Result<SocketFile> listen(const std::string& path);

  SocketFile(SocketFile&& other) noexcept = default;
  SocketFile& operator=(SocketFile&& other) noexcept = default;
  ~SocketFile();

  // Hands the descriptor over; the file stays this object's.
  int release() { return fd_.release(); }

 private:
  SocketFile() = default;

  UniqueFd fd_;
  std::string path_;  // empty: moved from
  unsigned long device_ = 0;
  unsigned long inode_ = 0;
};

// The name and home of a user; the number stands for a name that the system does not know.
struct User {
  std::string name;
  std::string home;
};
User user_of(unsigned uid);

// The user at the other end of a connected unix socket.
struct Credentials {
  unsigned uid = 0;
  std::int64_t pid = 0;
};
Result<Credentials> peer_credentials(int fd);

}  // namespace tutti
