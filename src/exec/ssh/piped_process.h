#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti {

// A child process whose standard input, output and error are ours. Nothing of it blocks: what
// cannot be written yet is kept. Its end kills the child. One thread.
class PipedProcess {
 public:
  // The words are executed as they are, searched in PATH.
  static Result<PipedProcess> start(const std::vector<std::string>& argv);
  PipedProcess() = default;
  PipedProcess(PipedProcess&& other) noexcept { *this = std::move(other); }
  PipedProcess& operator=(PipedProcess&& other) noexcept;
  ~PipedProcess() { kill(); }

  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // To be written as soon as it is taken.
  void send(std::string_view text);
  std::size_t unsent() const { return input_.size() - sent_; }

  // What to poll for; positions of descriptors that are closed have fd -1.
  void add_to(std::vector<pollfd>& polled) const;
  // Reads and writes what can be, after a poll. `polled` points at the three that add_to() added.
  void serve(const pollfd* polled);
  // Whether its output has ended; then end() does not wait long.
  bool output_ended() const { return !out_; }
  // Waits for it and returns the status as a shell tells it.
  int end();
  void kill();

  std::string output;  // that came and was not taken
  std::string errors;  // the same of standard error; the last 16 KiB

 private:
  void flush();

  pid_t pid_ = 0;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd err_;
  std::string input_;
  std::size_t sent_ = 0;
};

}  // namespace tutti
