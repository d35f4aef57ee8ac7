#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/node.h"

namespace tutti {

// How the system's ssh is called for one host. A value.
class SshCommand {
 public:
  // `socket`: where the master listens for further sessions. `config`: instead of the user's own
  // configuration; empty: that one.
  SshCommand(const Remote& remote, std::string socket, std::string config);

  // For a new connection: a master that is not quite gone removes its socket when it ends, also if
  // it is another's by then.
  void use_socket(std::string socket) { socket_ = std::move(socket); }

  // The connection itself, with a shell at the other end.
  std::vector<std::string> master() const;
  // One more session of a connection that is there.
  std::vector<std::string> session(const std::string& command) const;
  // For rsync's -e: one more session, in rsync's own quotes.
  std::string for_rsync() const;
  // The same by hand, for messages: with what was said of the host and no option of ours.
  std::string by_hand(const std::string& options) const;
  // The host as known_hosts has it, for messages.
  std::string known_as() const;
  // The host as rsync names it before the colon.
  const std::string& host() const { return host_; }
  const std::string& socket() const { return socket_; }

 private:
  std::vector<std::string> start() const;

  std::string host_;
  std::string user_;
  std::string port_;
  std::string key_;
  std::string socket_;
  std::string config_;
};

// Why a connection could not be made or broke, from what ssh wrote to its standard error: what is
// wrong and what to do.
std::string connection_trouble(const SshCommand& command, std::string_view text, int status);
// Whether trying again soon is of no use: a person has to do something first.
bool needs_a_person(std::string_view text);

}  // namespace tutti
