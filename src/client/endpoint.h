#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti {

// Where a daemon listens and what it wants to see first. A value.
struct Endpoint {
  std::string home;    // the home folder whose daemon is meant
  std::string socket;  // unix socket; empty: TCP
  std::string host;
  std::string port;
  std::string token;  // for TCP

  bool local() const { return !socket.empty(); }
  // For messages: the socket's path or host:port.
  std::string name() const;
};

// The unix socket of `home`, or $TUTTI_HOST (host:port) with the token from $TUTTI_TOKEN or from
// the home's token file.
Result<Endpoint> find_endpoint(std::string_view home);

// A connected socket. kUnavailable: nobody listens there. kDenied: the socket belongs to somebody
// else.
Result<UniqueFd> connect_to(const Endpoint& endpoint);

}  // namespace tutti
