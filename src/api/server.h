#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/services.h"
#include "base/result.h"

namespace tutti {

// Where the server listens.
struct ServerOptions {
  std::string unix_path;        // its folder must exist, with mode 0700
  std::string tcp;              // "ADDRESS:PORT", port 0 for any free one; empty: no TCP
  std::string token;            // required of TCP clients; never empty with TCP
  std::string tls_certificate;  // PEM files; empty: plain TCP
  std::string tls_key;
  std::uint32_t most_connections = 1000;
};

// The HTTP server on its own thread. start() and stop() belong to the thread that owns it. When
// stop() returns nothing of it runs any more.
class Server {
 public:
  // What `services` names must outlive the server.
  Server(ServerOptions options, Services services);
  ~Server();

  // Listens, or says why not. A socket file of a daemon that is gone is replaced; one that answers
  // is a conflict.
  Result<void> start();
  void stop();

  // The TCP port in use; zero: none.
  std::uint16_t tcp_port() const;

 private:
  struct State;
  ServerOptions options_;
  Services services_;
  std::shared_ptr<State> state_;
};

}  // namespace tutti
