#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "exec/ssh/message.h"
#include "exec/ssh/piped_process.h"
#include "exec/ssh/ssh_command.h"

namespace tutti {

// The connection to one host: ssh with the agent's shell at the other end. Opened, watched and
// opened again by its host; one thread.
class AgentLink {
 public:
  enum class State { kClosed, kOpening, kReady };
  // How long the way to the first line may take.
  static constexpr Duration kOpenPatience = seconds(20);

  // Sockets for further sessions have names that begin with `socket`.
  AgentLink(std::string host_name, SshCommand command, std::string socket, std::string root)
      : host_name_(std::move(host_name)),
        command_(std::move(command)),
        socket_(std::move(socket)),
        root_(std::move(root)) {}
  ~AgentLink() { close(); }
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  State state() const { return state_; }
  const SshCommand& command() const { return command_; }
  // For the next connection.
  void use(SshCommand command) { next_ = std::move(command); }
  void open(TimePoint now);
  void close();
  // Closes it because of what the host said.
  void give_up(std::string why) { fail(std::move(why)); }
  // Calls a function of the agent; its arguments are quoted here. Only when not closed.
  void call(std::string_view function, const std::vector<std::string>& arguments);

  void add_to(std::vector<pollfd>& polled) const { process_.add_to(polled); }
  // After a poll. What came is given to `take`; false: the connection has ended, see trouble().
  bool serve(const pollfd* polled, TimePoint now, const std::function<void(AgentMessage)>& take);
  // Why it ended, for a user, and whether trying again soon may help.
  const std::string& trouble() const { return trouble_; }
  bool hopeless() const { return hopeless_; }
  // Whether sessions of that login begin with words of its start-up files.
  bool noisy() const { return noisy_; }

 private:
  bool take_lines(const std::function<void(AgentMessage)>& take);
  void fail(std::string why);

  std::string host_name_;
  SshCommand command_;
  std::optional<SshCommand> next_;  // instead of it, once this connection has ended
  const std::string socket_;
  std::string root_;
  State state_ = State::kClosed;
  PipedProcess process_;
  std::string nonce_;
  TimePoint opened_at_;
  std::string trouble_;
  bool hopeless_ = false;
  bool noisy_ = false;
};

}  // namespace tutti
