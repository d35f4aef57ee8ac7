#include "exec/keeper/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace tutti {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;
constexpr int kSocketBytes = 1 << 20;

// Through the folder's descriptor, because a socket's path must be shorter than 108 bytes.
sockaddr_un address_in(int folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/keeper.sock", folder);
  return address;
}

Result<UniqueFd> open_run_folder(const std::string& home) {
  UniqueFd folder(open((home + "/run").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return io_error("cannot open the folder '" + home + "/run'", errno);
  return folder;
}

// Folder permissions keep others out already; this does when they were loosened.
bool is_own(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace

Result<Link> Link::create(const std::string& home, int epoll) {
  const Result<UniqueFd> folder = open_run_folder(home);
  if (!folder) return folder.error();
  Link link;
  link.epoll_ = epoll;
  link.listener_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!link.listener_) return io_error("cannot make a socket", errno);
  unlinkat(folder->get(), "keeper.sock", 0);
  const sockaddr_un address = address_in(folder->get());
  const mode_t before = umask(0177);
  const int bound =
      bind(link.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0 || listen(link.listener_.get(), 16) != 0) {
    return io_error("cannot listen on '" + home + "/run/keeper.sock'", errno);
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = link.listener_.get();
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, link.listener_.get(), &event) != 0) {
    return io_error("cannot watch the keeper's socket", errno);
  }
  return link;
}

bool Link::accept() {
  UniqueFd fresh(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fresh) return false;
  if (!is_own(fresh.get())) return true;
  disconnect();
  peer_ = std::move(fresh);
  setsockopt(peer_.get(), SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = peer_.get();
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, peer_.get(), &event) != 0) disconnect();
  return true;
}

bool Link::receive(const std::function<bool(const Frame&)>& visit) {
  char* const room = in_.reserve(kReadBytes);
  const ssize_t n = recv(peer_.get(), room, kReadBytes, MSG_DONTWAIT);
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) {
    disconnect();
    return false;
  }
  in_.commit(static_cast<std::size_t>(n));
  Frame frame;
  for (;;) {
    const FrameBuffer::Next next = in_.next(frame);
    if (next == FrameBuffer::Next::kNeedMore) return true;
    if (next == FrameBuffer::Next::kFrame && visit(frame)) continue;
    disconnect();
    return false;
  }
}

void Link::send(std::string& frames) {
  if (connected() && !deaf_) out_ += frames;
  frames.clear();
  flush();
}

void Link::flush() {
  while (connected() && has_unsent()) {
    const ssize_t n =
        ::send(peer_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      watch(true);
      return;
    }
    if (n <= 0) {
      // Gone, but what it has ordered before may still be unread.
      deaf_ = true;
      break;
    }
    sent_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  sent_ = 0;
  if (wants_write_) watch(false);
}

void Link::watch(bool writable) {
  if (wants_write_ == writable) return;
  wants_write_ = writable;
  epoll_event event{};
  event.events = EPOLLIN | (writable ? EPOLLOUT : 0u);
  event.data.fd = peer_.get();
  epoll_ctl(epoll_, EPOLL_CTL_MOD, peer_.get(), &event);
}

void Link::disconnect() {
  peer_.reset();
  deaf_ = false;
  wants_write_ = false;
  in_.clear();
  out_.clear();
  sent_ = 0;
}

Result<UniqueFd> connect_to_keeper(const std::string& home) {
  const Result<UniqueFd> folder = open_run_folder(home);
  if (!folder) return folder.error();
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return io_error("cannot make a socket", errno);
  const sockaddr_un address = address_in(folder->get());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{ErrorCode::kUnavailable, std::string("no keeper listens: ") + strerror(errno)};
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  return fd;
}

}  // namespace tutti
