#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "exec/keeper/folders.h"
#include "exec/keeper/processes.h"
#include "exec/keeper/wall_time.h"
#include "exec/local/local_executor.h"
#include "exec/local/sweep.h"

// The half of LocalExecutor that deals with the keeper's life: meeting it, listening to it, and
// what is to be done when it dies.

namespace tutti {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;
constexpr char kKeeperDied[] = "the keeper process ended unexpectedly";
constexpr char kNeverArrived[] = "the keeper process does not know it any more";

}  // namespace

void LocalExecutor::stop_reading() {
  stop_ = true;
  wake_reader();
  if (reader_.joinable()) reader_.join();
  const std::lock_guard lock(mutex_);
  down_ = true;
  fd_.reset();
  unsent_.clear();
  deferred_.clear();
  deferred_acks_.clear();
  parked_.clear();
  held_.clear();
  contexts_.clear();
  in_.clear();
}

// True: attempts that it does not list never reached any keeper.
Result<bool> LocalExecutor::meet_keeper(Listing& listing) {
  const Result<KeeperRecord> before = read_keeper_record(place_.home);
  if (!before && before.error().code == ErrorCode::kIo) return before.error();
  Result<KeeperConnection> connection = reach_or_start_keeper(place_, stop_);
  if (!connection) return connection.error();
  const std::string incarnation = connection->welcome.incarnation;
  const bool same = before && before->incarnation == incarnation;
  const bool clean = before && ended_clean(place_.home, before->incarnation);
  if (before && !same && !clean && !serves_another_home(*before, place_.home)) {
    // It may still run, out of reach: somebody removed its socket.
    end_keeper(*before);
    sweep(*before, {});
    run_cleanups(place_.home);
  }
  if (!same) {
    // Before the first order, or a successor could not know whom it went to.
    const std::int64_t pid = connection->welcome.pid;
    const KeeperRecord record{incarnation, connection->welcome.cgroups, pid,
                              start_ticks(static_cast<pid_t>(pid))};
    if (Result<void> noted = write_keeper_record(place_.home, record); !noted) {
      return noted.error();
    }
  }
  Result<Listing> listed = take_connection(std::move(*connection));
  if (!listed) return listed.error();
  listing = std::move(*listed);
  return same || clean;
}

Result<Listing> LocalExecutor::take_connection(KeeperConnection connection) {
  std::string frames;
  append_frame(frames, ListOrder{});
  const int fd = connection.fd.get();
  if (Result<void> sent = send_frames(fd, frames, kKeeperAnswerMs); !sent) return sent.error();
  in_.clear();
  for (;;) {
    Result<FromKeeper> message = read_message(fd, in_, kKeeperAnswerMs);
    if (!message) return message.error();
    auto* listing = std::get_if<Listing>(&*message);
    // What is reported before the list is in the list.
    if (listing == nullptr) continue;
    const std::lock_guard lock(mutex_);
    fd_ = std::move(connection.fd);
    keeper_ = {.incarnation = connection.welcome.incarnation,
               .cgroups = connection.welcome.cgroups};
    keeper_pid_ = connection.welcome.pid;
    keeper_version_ = connection.welcome.version;
    roster_.restore(*listing);
    contexts_.clear();
    unsent_.clear();
    return std::move(*listing);
  }
}

void LocalExecutor::wake_reader() const {
  const std::uint64_t one = 1;
  static_cast<void>(write(wake_.get(), &one, sizeof one) == sizeof one);
}

void LocalExecutor::send_locked(const std::string& frames) {
  if (frames.empty()) return;
  const bool waiting = !unsent_.empty();
  unsent_ += frames;
  if (waiting) return;
  flush_locked();
  if (!unsent_.empty()) wake_reader();
}

// What the keeper does not take at once is sent by the reader when it does; a dead one is noticed
// there, too.
void LocalExecutor::flush_locked() {
  std::size_t sent = 0;
  while (fd_ && sent < unsent_.size()) {
    const ssize_t n =
        send(fd_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  unsent_.erase(0, sent);
}

void LocalExecutor::read_loop() {
  while (!stop_) {
    std::array<pollfd, 2> fds{};
    {
      const std::lock_guard lock(mutex_);
      fds[0] = {fd_.get(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    }
    fds[1] = {wake_.get(), POLLIN, 0};
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    if ((fds[1].revents & POLLIN) != 0) {
      std::uint64_t count = 0;
      static_cast<void>(read(wake_.get(), &count, sizeof count) == sizeof count);
    }
    if (stop_) return;
    if ((fds[0].revents & POLLOUT) != 0) {
      const std::lock_guard lock(mutex_);
      flush_locked();
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) recover();
  }
}

// False: the connection is no more.
bool LocalExecutor::receive() {
  const ssize_t n = recv(fd_.get(), in_.reserve(kReadBytes), kReadBytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) return false;
  in_.commit(static_cast<std::size_t>(n));
  std::vector<Report> reports;
  bool sound = true;
  {
    const std::lock_guard lock(mutex_);
    std::string frames;
    for (Frame frame;;) {
      const FrameBuffer::Next next = in_.next(frame);
      sound = next != FrameBuffer::Next::kBroken;
      if (next != FrameBuffer::Next::kFrame) break;
      Result<FromKeeper> message = decode_from_keeper(frame);
      sound = message.has_value();
      if (!sound) break;
      if (auto* started = std::get_if<AttemptStarted>(&*message)) {
        roster_.started(*started);
        reports.emplace_back(*started);
      } else if (auto* ended = std::get_if<AttemptEnded>(&*message)) {
        if (!roster_.ended(*ended)) continue;
        forget_use(ended->attempt.task.job, frames);
        reports.emplace_back(std::move(*ended));
      }
    }
    send_locked(frames);
  }
  if (!reports.empty()) sink_->report(std::move(reports));
  return sound;
}

void LocalExecutor::recover() {
  {
    const std::lock_guard lock(mutex_);
    down_ = true;
    fd_.reset();
  }
  if (resume()) return;
  lose_everything();
  start_anew();
}

// The connection broke, but the keeper may be alive.
bool LocalExecutor::resume() {
  Result<KeeperConnection> connection = reach_keeper(place_);
  if (!connection || connection->welcome.incarnation != keeper_.incarnation) return false;
  Roster known;
  {
    const std::lock_guard lock(mutex_);
    known = std::move(roster_);
  }
  Result<Listing> listing = take_connection(std::move(*connection));
  if (!listing) {
    const std::lock_guard lock(mutex_);
    roster_ = std::move(known);
    return false;
  }
  std::vector<Report> reports;
  for (const Listing::Running& one : listing->running) reports.emplace_back(one.started);
  for (AttemptEnded& ended : listing->ended) {
    if (known.ended(ended)) reports.emplace_back(std::move(ended));
  }
  for (AttemptEnded& lost : known.lose_unlisted(*listing, wall_now(), kNeverArrived)) {
    reports.emplace_back(std::move(lost));
  }
  sink_->report(std::move(reports));
  accept_orders();
  return true;
}

void LocalExecutor::lose_everything() {
  std::vector<pid_t> sessions;
  std::vector<AttemptEnded> lost;
  keeper_pid_ = 0;
  {
    const std::lock_guard lock(mutex_);
    sessions = roster_.sessions();
    lost = roster_.lose_all(wall_now(), kKeeperDied);
    contexts_.clear();
    unsent_.clear();
  }
  // Only when nothing of theirs runs any more is what they held free.
  sweep(keeper_, sessions);
  run_cleanups(place_.home);
  std::vector<Report> reports;
  for (AttemptEnded& one : lost) reports.emplace_back(std::move(one));
  if (!reports.empty()) sink_->report(std::move(reports));
}

void LocalExecutor::start_anew() {
  bool told = false;
  while (!stop_) {
    Listing listing;
    const Result<bool> met = meet_keeper(listing);
    if (met) break;
    if (!std::exchange(told, true)) {
      tell_state(Node::State::kDown, met.error().message);
    }
    // Until somebody frees the disk, or whatever it was; poll() so that a stop ends it at once.
    pollfd wake{wake_.get(), POLLIN, 0};
    poll(&wake, 1, 1000);
  }
  if (stop_) return;
  if (told) tell_state(Node::State::kUp, "");
  accept_orders();
}

// Noted in a file, so that a later daemon knows that it was not a user who took the node down.
void LocalExecutor::tell_state(Node::State state, const std::string& reason) {
  const std::string note = place_.home + "/state/node-down";
  if (state == Node::State::kUp) {
    unlink(note.c_str());
  } else {
    static_cast<void>(replace_file(note, reason).has_value());
  }
  sink_->report({NodeStateChanged{kNode, state, reason}});
}

}  // namespace tutti
