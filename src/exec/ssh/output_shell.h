#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "exec/ssh/piped_process.h"
#include "exec/ssh/ssh_command.h"

namespace tutti {

// A second shell on a host, through the same connection, that reads pieces of files: bytes would
// mix with messages on the agent's. It is started when something is wanted and ends when nothing
// was for a while, or when its host says so. One thread.
class OutputShell {
 public:
  static constexpr std::size_t kPiece = 4u << 20;
  // Longer than the pause between two looks at an attempt's output: one shell serves for all of it.
  static constexpr Duration kRest = seconds(30);
  // Called with what the file has from the offset on, at most kPiece bytes.
  using Done = std::function<void(std::string_view bytes)>;

  explicit OutputShell(SshCommand command) : command_(std::move(command)) {}

  // The connection whose session it is.
  void use(SshCommand command) { command_ = std::move(command); }
  void read(std::string path, std::uint64_t offset, Done done);
  bool idle() const { return wanted_.empty() && asked_.empty(); }
  bool running() const { return process_.running(); }
  // Ends a shell of which nothing was wanted for kRest. Says when that will be; zero: not by
  // itself.
  TimePoint rest(TimePoint now);
  // Drops the shell; what was wanted is wanted still, or forgotten.
  void close(bool forget);

  void add_to(std::vector<pollfd>& polled) const { process_.add_to(polled); }
  // After a poll. False: the shell ended without being told; what is wanted is asked for again with
  // the next call of serve().
  bool serve(const pollfd* polled);

 private:
  struct Piece {
    std::string path;
    std::uint64_t offset = 0;
    Done done;
  };
  bool start();
  void ask();
  void take();

  SshCommand command_;
  PipedProcess process_;
  std::string mark_;      // ends every answer
  bool greeted_ = false;  // the first mark came: what was before it is the login's noise
  TimePoint idle_since_;  // zero: it is not
  std::size_t seen_ = 0;  // bytes of output in which the mark is not
  std::deque<Piece> wanted_;
  std::deque<Piece> asked_;
};

}  // namespace tutti
