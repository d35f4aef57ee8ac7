#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/services.h"
#include "core/spec/launch.h"

namespace tutti {

// Reads the output of one task, attempt after attempt, as it is written. Owned by one stream; API
// thread only.
class LogFollower {
 public:
  // `tail`: only the last lines of the newest attempt, and what follows; otherwise everything.
  LogFollower(const Services& services, const JobSpec& spec, TaskId task,
              std::optional<std::uint64_t> tail);

  // One piece of output.
  struct Piece {
    std::uint32_t attempt = 0;
    LogStream stream = LogStream::kStdout;
    std::string bytes;  // empty: nothing new now
  };
  // The next piece. Never ends inside a UTF-8 character, unless the attempt is over.
  Result<Piece> next();

  // All that the task ever wrote was handed out.
  bool done() const { return done_; }
  // After next() failed. Without descriptors it is tried until there are some; what else fails may
  // pass too, but is not waited for for ever.
  void put_off(const Error& error);
  TaskId task() const { return task_; }
  // What it wrote could not be read so far.
  bool stuck() const { return failures_ > 0 && !done_; }
  // More may be there soon, of which nobody tells.
  bool worth_a_look() const { return (running_ || stuck()) && !done_; }

 private:
  struct Cursor {
    std::string path;
    std::uint64_t offset = 0;
  };
  Result<void> open_attempt(std::uint32_t attempt);
  Result<TaskRow> row() const;
  Result<std::string> read(Cursor& cursor) const;
  Result<Piece> look();

  const Services& services_;
  const JobSpec& spec_;
  TaskId task_;
  std::optional<std::uint64_t> tail_;
  std::uint32_t attempt_ = 0;  // zero: none yet
  Cursor cursors_[2];          // stdout, stderr; equal paths are read once
  bool over_ = false;          // the attempt has ended: its files do not grow any more
  bool running_ = false;
  bool done_ = false;
  int failures_ = 0;  // in a row
};

// The row of one task.
Result<TaskRow> task_row(History& history, TaskId task);

}  // namespace tutti
