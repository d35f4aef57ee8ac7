#include "client/endpoint.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/home.h"

namespace tutti {
namespace {

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!file || !std::getline(file, token) || token.empty()) {
    return Error{ErrorCode::kDenied,
                 fmt::format("TUTTI_HOST needs a token: set TUTTI_TOKEN, or put "
                             "the daemon's token into {}",
                             path)};
  }
  return token;
}

Error connect_error(const Endpoint& endpoint, int error_number) {
  if (error_number == ENOENT || error_number == ECONNREFUSED) {
    return {ErrorCode::kUnavailable,
            fmt::format("no daemon listens at {}; start one {}with 'tutti daemon start{}'",
                        endpoint.name(), endpoint.local() ? "" : "there ",
                        endpoint.local() ? "" : " --listen HOST:PORT")};
  }
  if (error_number == EACCES || error_number == EPERM) {
    return {ErrorCode::kDenied,
            fmt::format("not allowed to use the daemon at {}; it belongs to another user, choose "
                        "your own home with TUTTI_HOME",
                        endpoint.name())};
  }
  Error error = io_error("cannot connect to the daemon at " + endpoint.name(), error_number);
  if (error.code == ErrorCode::kIo) error.code = ErrorCode::kUnavailable;
  return error;
}

// In a shared folder such as /tmp somebody else could listen in the daemon's place.
Result<void> check_peer(int fd, const Endpoint& endpoint) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return io_error("cannot see who listens at " + endpoint.name(), errno);
  }
  if (peer.uid != ::getuid() && peer.uid != 0 && ::getuid() != 0) {
    return Error{ErrorCode::kDenied,
                 fmt::format("user {} listens at {}, not you", peer.uid, endpoint.name())};
  }
  return {};
}

Result<UniqueFd> connect_unix(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.socket.size() >= sizeof address.sun_path) {
    return invalid_input(fmt::format(
        "the socket's path {} is too long; choose a shorter TUTTI_HOME", endpoint.socket));
  }
  std::memcpy(address.sun_path, endpoint.socket.data(), endpoint.socket.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return io_error("cannot create a socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return connect_error(endpoint, errno);
  }
  if (auto checked = check_peer(fd.get(), endpoint); !checked) return checked.error();
  return fd;
}

// A machine that is gone is not waited for as long as the system would.
bool connect_in_time(int fd, const addrinfo& address) {
  timeval limit{10, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0) return false;
  limit = {};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return true;
}

Result<UniqueFd> connect_tcp(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (failure != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("cannot find the host of TUTTI_HOST={}: {}",
                                                      endpoint.name(), ::gai_strerror(failure))};
  }
  int last = ECONNREFUSED;
  UniqueFd fd;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    fd = UniqueFd(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (fd && connect_in_time(fd.get(), *at)) break;
    last = errno == EINPROGRESS ? ETIMEDOUT : errno;
    fd.reset();
  }
  ::freeaddrinfo(found);
  if (!fd) return connect_error(endpoint, last);
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace

std::string Endpoint::name() const {
  return local() ? socket : host + ":" + port;
}

Result<Endpoint> find_endpoint(std::string_view home) {
  Endpoint endpoint;
  endpoint.home = home;
  const char* host = std::getenv("TUTTI_HOST");
  if (host == nullptr || *host == '\0') {
    endpoint.socket = socket_path(home);
    return endpoint;
  }
  const std::string_view text(host);
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    return invalid_input(fmt::format("TUTTI_HOST={} is not of the form host:port", text));
  }
  endpoint.host = text.substr(0, colon);
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  endpoint.port = text.substr(colon + 1);
  if (const char* token = std::getenv("TUTTI_TOKEN"); token != nullptr && *token != '\0') {
    endpoint.token = token;
    return endpoint;
  }
  auto token = read_token(token_path(home));
  if (!token) return token.error();
  endpoint.token = *token;
  return endpoint;
}

Result<UniqueFd> connect_to(const Endpoint& endpoint) {
  return endpoint.local() ? connect_unix(endpoint) : connect_tcp(endpoint);
}

}  // namespace tutti
