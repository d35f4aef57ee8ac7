#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/endpoint.h"

namespace tutti {

// Starts `program daemon run --home HOME ...` in a session of its own, with its output in the
// home's daemon.log, and returns when it answers. An Error carries the end of that log when the
// daemon gave up. `extra` are further arguments of `daemon run`.
Result<void> start_daemon(const Endpoint& endpoint, const std::string& program,
                          const std::vector<std::string>& extra);

// What to say of a daemon that runs but whose socket was removed, so that nobody can reach it;
// nothing: there is none. One that has just been started is given the time to make its socket.
std::optional<Error> lost_socket(const Endpoint& endpoint);

// The process that serves `home`; zero: none of this machine and user.
std::int64_t daemon_pid(const std::string& home);

// The arguments of the last `tutti daemon start`, so that a daemon that is started again, by hand
// or by itself, is the same one. A home that cannot be written is the daemon's to complain about.
void remember_arguments(const std::string& home, const std::vector<std::string>& extra);
std::vector<std::string> remembered_arguments(const std::string& home);

// The program that runs now, for start_daemon.
std::string own_program();

// Whether $TUTTI_NO_AUTOSTART forbids starting a daemon.
bool autostart_forbidden();

// The last lines of a text file behind its first `from` bytes, for messages; empty when it cannot
// be read.
std::string last_lines(const std::string& path, std::size_t lines, std::uintmax_t from = 0);

}  // namespace tutti
