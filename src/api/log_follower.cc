#include "api/log_follower.h"

#include <algorithm>

#include "api/byte_source.h"
#include "api/log_file.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

constexpr int kMostFailures = 200;

}  // namespace

Result<TaskRow> task_row(History& history, TaskId task) {
  TaskFilter filter;
  filter.from = task.index;
  filter.limit = 1;
  auto rows = history.tasks(task.job, filter);
  if (!rows) return rows.error();
  if (rows->empty() || rows->front().task != task) {
    return Error{ErrorCode::kInternal,
                 "the history lacks a task of job " + std::to_string(task.job.value)};
  }
  return std::move(rows->front());
}

LogFollower::LogFollower(const Services& services, const JobSpec& spec, TaskId task,
                         std::optional<std::uint64_t> tail)
    : services_(services), spec_(spec), task_(task), tail_(tail) {}

Result<TaskRow> LogFollower::row() const {
  return task_row(services_.history, task_);
}

Result<void> LogFollower::open_attempt(std::uint32_t attempt) {
  const AttemptId id{task_, attempt};
  cursors_[0] = {log_file(services_.log_folder, spec_, id, LogStream::kStdout), 0};
  cursors_[1] = {log_file(services_.log_folder, spec_, id, LogStream::kStderr), 0};
  if (cursors_[0].path == cursors_[1].path) cursors_[1].path.clear();
  for (Cursor& cursor : cursors_) {
    if (!tail_) break;
    const auto offset = tail_offset(cursor.path, *tail_);
    if (!offset) return offset.error();
    cursor.offset = *offset;
  }
  // Not before: an attempt that could not be opened is opened again.
  attempt_ = attempt;
  over_ = false;
  tail_.reset();
  return {};
}

// A piece may be cut in the middle of a character: then its rest is left for the next piece.
Result<std::string> LogFollower::read(Cursor& cursor) const {
  if (cursor.path.empty()) return std::string();
  auto bytes = read_log(cursor.path, cursor.offset, ByteSource::kPiece);
  if (!bytes) return bytes;
  const bool may_grow = !over_ || bytes->size() == ByteSource::kPiece;
  if (may_grow) bytes->resize(whole_characters(*bytes));
  cursor.offset += bytes->size();
  return bytes;
}

void LogFollower::put_off(const Error& error) {
  const bool passes = error.code == ErrorCode::kExhausted;
  failures_ = passes ? std::max(failures_, 1) : failures_ + 1;
  done_ = done_ || failures_ >= kMostFailures;
}

Result<LogFollower::Piece> LogFollower::next() {
  auto piece = look();
  if (piece) failures_ = 0;
  return piece;
}

Result<LogFollower::Piece> LogFollower::look() {
  while (!done_) {
    for (int i = 0; i < 2 && attempt_ > 0; ++i) {
      auto bytes = read(cursors_[i]);
      if (!bytes) return bytes.error();
      if (bytes->empty()) continue;
      return Piece{attempt_, i == 0 ? LogStream::kStdout : LogStream::kStderr, std::move(*bytes)};
    }
    const auto row_now = row();
    if (!row_now) return row_now.error();
    running_ = is_active(row_now->state);
    if (over_ || attempt_ == 0) {
      if (row_now->attempts > attempt_) {
        const std::uint32_t next = tail_ ? row_now->attempts : attempt_ + 1;
        const auto opened = open_attempt(next);
        if (!opened) return opened.error();
        continue;
      }
      if (!is_final(row_now->state)) break;
      done_ = true;
    } else {
      // Known to be over only now: what was written since the last look is read once more.
      over_ = row_now->attempts > attempt_ || !is_active(row_now->state);
      if (!over_) break;
    }
  }
  return Piece{};
}

}  // namespace tutti
