#include "exec/ssh/ssh_command.h"

#include <algorithm>
#include <array>
#include <utility>

#include "exec/ssh/shell_quote.h"

namespace tutti {
namespace {

bool contains(std::string_view text, std::string_view what) {
  return text.find(what) != text.npos;
}

constexpr std::string_view kKeyChanged = "REMOTE HOST IDENTIFICATION HAS CHANGED";
constexpr std::string_view kKeyUnknown = "Host key verification failed";
constexpr std::string_view kDenied = "Permission denied";

// A word of a command line for people: quoted only if it has to be.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,=";
  return word.find_first_not_of(kPlain) == word.npos ? word : shell_quoted(word);
}

// What stands from `begin` to the end of its line; empty: it is not there. Some systems' ssh says
// itself how to forget a key, and knows the file and the name in it.
std::string line_from(std::string_view text, std::string_view begin) {
  const std::size_t at = text.find(begin);
  if (at == text.npos) return {};
  return std::string(text.substr(at, std::min(text.find_first_of("\r\n", at), text.size()) - at));
}

// The last line that says something.
std::string last_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find_last_not_of(" \r\n\t");
    if (end == text.npos) return {};
    text = text.substr(0, end + 1);
    const std::size_t begin = text.rfind('\n');
    const std::string_view line = begin == text.npos ? text : text.substr(begin + 1);
    return std::string(line.substr(0, 300));
  }
  return {};
}

}  // namespace

SshCommand::SshCommand(const Remote& remote, std::string socket, std::string config)
    : key_(remote.key), socket_(std::move(socket)), config_(std::move(config)) {
  std::string_view rest = remote.address;
  if (const std::size_t at = rest.rfind('@'); at != rest.npos) {
    user_ = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  const std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    host_ = rest.substr(1, close - 1);
    if (colon != rest.npos && colon > close) port_ = rest.substr(colon + 1);
  } else if (colon != rest.npos && rest.find(':') == colon) {
    host_ = rest.substr(0, colon);
    port_ = rest.substr(colon + 1);
  } else {
    host_ = rest;
  }
}

std::vector<std::string> SshCommand::start() const {
  std::vector<std::string> argv = {"ssh", "-T", "-S", socket_};
  if (!config_.empty()) argv.insert(argv.end(), {"-F", config_});
  return argv;
}

std::vector<std::string> SshCommand::master() const {
  std::vector<std::string> argv = start();
  argv.emplace_back("-M");
  // Nothing is asked, nothing is forwarded, and four seconds of silence are the end.
  for (const char* option :
       {"BatchMode=yes", "StrictHostKeyChecking=accept-new", "ConnectTimeout=5",
        "ConnectionAttempts=1", "ServerAliveInterval=2", "ServerAliveCountMax=1",
        "ControlPersist=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no",
        "PermitLocalCommand=no", "RequestTTY=no", "LogLevel=ERROR", "EscapeChar=none",
        "IPQoS=throughput"})
    argv.insert(argv.end(), {"-o", option});
  if (!user_.empty()) argv.insert(argv.end(), {"-l", user_});
  if (!port_.empty()) argv.insert(argv.end(), {"-p", port_});
  if (!key_.empty()) argv.insert(argv.end(), {"-i", key_, "-o", "IdentitiesOnly=yes"});
  argv.insert(argv.end(), {"--", host_, "exec /bin/sh"});
  return argv;
}

std::vector<std::string> SshCommand::session(const std::string& command) const {
  std::vector<std::string> argv = start();
  // Without the master it must fail rather than make a connection of its own.
  argv.insert(argv.end(), {"-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o",
                           "ProxyCommand=false", "-o", "LogLevel=ERROR", "--", host_, command});
  return argv;
}

std::string SshCommand::for_rsync() const {
  std::string text = "ssh -T -S '" + socket_ + "'";
  if (!config_.empty()) text += " -F '" + config_ + "'";
  return text + " -o ControlMaster=no -o BatchMode=yes -o ProxyCommand=false -o LogLevel=ERROR --";
}

std::string SshCommand::by_hand(const std::string& options) const {
  std::string text = "ssh" + options;
  if (!config_.empty()) text += " -F " + shell_word(config_);
  if (!port_.empty()) text += " -p " + port_;
  if (!key_.empty()) text += " -o IdentitiesOnly=yes -i " + shell_word(key_);
  return text + " " + (user_.empty() ? "" : user_ + "@") + host_;
}

std::string SshCommand::known_as() const {
  return port_.empty() || port_ == "22" ? host_ : shell_word("[" + host_ + "]:" + port_);
}

std::string connection_trouble(const SshCommand& command, std::string_view text, int status) {
  const std::string& name = command.host();
  if (contains(text, kKeyChanged)) {
    const std::string told = line_from(text, "ssh-keygen -f");
    return "the host key of " + name +
           " is not the one that is known: somebody may be in between. " +
           "If the machine was set up anew, forget the old key with: " +
           (told.empty() ? "ssh-keygen -R " + command.known_as() : told);
  }
  if (contains(text, kKeyUnknown))
    return "the host key of " + name +
           " is not accepted; connect once by hand: " + command.by_hand("");
  if (contains(text, kDenied))
    return name +
           " refused every key that was offered; try: " + command.by_hand(" -o BatchMode=yes") +
           " true. Keys with a passphrase need ssh-agent";
  if (contains(text, "Could not resolve"))
    return "nobody knows a host named " + name + "; check the name, or ~/.ssh/config";
  const std::string line = last_line(text);
  if (!line.empty()) return name + " cannot be reached: " + line;
  if (status == 255) return "the connection to " + name + " was cut off";
  return "the shell at " + name + " ended with status " + std::to_string(status) +
         " before it said anything: look at the start-up files of the login there";
}

bool needs_a_person(std::string_view text) {
  return contains(text, kKeyChanged) || contains(text, kKeyUnknown) || contains(text, kDenied);
}

}  // namespace tutti
