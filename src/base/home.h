#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

// The one folder that holds everything of one daemon: `chosen` if not empty, else $TUTTI_HOME, else
// $XDG_DATA_HOME/tutti, else ~/.local/share/tutti. Always absolute; not created.
Result<std::string> home_folder(std::string_view chosen = {});

// Where sockets of `home` are: home/run. The kernel takes no socket path longer than 107 bytes, so
// a long home has its sockets in /tmp/tutti-UID-HASH instead. It depends on nothing but `home` and
// the user, so that a cron job finds the same socket as a login shell.
std::string socket_folder(std::string_view home, std::size_t longest_name);

// Where the daemon of `home` listens: tutti.sock in that folder.
std::string socket_path(std::string_view home);

// Creates the socket's folder with mode 0700. An existing one must belong to this user: in /tmp
// somebody else could have made it first.
Result<void> make_socket_folder(const std::string& socket);

// The file that holds the token of the TCP listener.
std::string token_path(std::string_view home);

// The work directory of a job that was submitted with a snapshot and ran on this machine.
std::string work_path(std::string_view home, std::uint64_t job);

// The daemon's own log.
std::string daemon_log_path(std::string_view home);

}  // namespace tutti
