#include "exec/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/random_word.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/keeper/cgroups.h"
#include "exec/keeper/folders.h"
#include "exec/keeper/launcher.h"
#include "exec/keeper/limits_note.h"
#include "exec/keeper/link.h"
#include "exec/keeper/messages.h"
#include "exec/keeper/supervisor.h"
#include "telemetry/monotonic.h"

namespace tutti {
namespace {

constexpr std::int64_t kHoldUs = 5 * 1000;
constexpr std::int64_t kFirstControllerUs = 30 * 1000 * 1000;

// The loop: orders come in, children end, time passes; what each means is the Supervisor's
// business.
class Keeper {
 public:
  Keeper(std::string home, std::string incarnation, UniqueFd epoll, UniqueFd signals, Link link,
         Launcher launcher)
      : home_(std::move(home)),
        incarnation_(std::move(incarnation)),
        epoll_(std::move(epoll)),
        signals_(std::move(signals)),
        link_(std::move(link)),
        cgroups_(find_cgroup_place(), incarnation_),
        limits_(home_),
        supervisor_(std::move(launcher), cgroups_, limits_, incarnation_),
        first_controller_by_us_(monotonic_us() + kFirstControllerUs) {}

  void run() {
    while (!done()) {
      std::array<epoll_event, 4> events{};
      const int n = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms());
      for (int i = 0; i < n; ++i) dispatch(events[static_cast<std::size_t>(i)]);
      const std::int64_t now = monotonic_us();
      if (supervisor_.next_due() <= now) supervisor_.advance(now);
      supervisor_.send_signals();
      pass_reports(now);
    }
    leave();
  }

 private:
  void dispatch(const epoll_event& event) {
    if (event.data.fd == signals_.get()) {
      signalfd_siginfo ignored{};
      while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
      }
      supervisor_.reap();
    } else if (event.data.fd == link_.listener()) {
      take_connection();
    } else if (event.data.fd == link_.peer()) {
      if ((event.events & EPOLLOUT) != 0) link_.flush();
      if (link_.connected() && (event.events & ~static_cast<unsigned>(EPOLLOUT)) != 0) receive();
    }
  }

  void take_connection() {
    // What the former controller ordered before it went must not be lost: its successor takes an
    // attempt that the keeper does not know as one that was never ordered.
    while (link_.connected() && receive()) {
    }
    if (!link_.accept()) return;
    greeted_ = false;
    supervisor_.reports().clear();
  }

  bool receive() {
    return link_.receive([this](const Frame& frame) { return take_frame(frame); });
  }

  bool take_frame(const Frame& frame) {
    Result<ToKeeper> message = decode_to_keeper(frame);
    if (!message) {
      fprintf(stderr, "keeper: %s\n", message.error().message.c_str());
      return false;
    }
    if (!greeted_ && !std::holds_alternative<Hello>(*message)) return false;
    std::visit([this](auto& m) { take(m); }, *message);
    return true;
  }

  template <typename Order>
  void take(Order& order) {
    supervisor_.take(std::move(order));
  }

  void take(Hello& hello) {
    greeted_ = true;
    supervisor_.forget_contexts();
    had_controller_ = true;
    Welcome welcome;
    welcome.version = std::min(hello.version, kKeeperVersion);
    welcome.incarnation = incarnation_;
    welcome.pid = getpid();
    welcome.cgroups = cgroups_.roots();
    answer(welcome);
  }

  void take(ListOrder&) {
    // The list says it all: what was not sent yet would be told twice.
    supervisor_.reports().clear();
    answer(supervisor_.list());
  }

  void take(Quit& quit) {
    const std::size_t kept = supervisor_.active() + supervisor_.unacknowledged();
    if (kept > 0 && !quit.forced) {
      answer(QuitRefused{"the keeper still has " + std::to_string(kept) + " attempts"});
      return;
    }
    quitting_ = true;
    supervisor_.end_all();
  }

  template <typename Message>
  void answer(const Message& message) {
    std::string frames;
    append_frame(frames, message);
    link_.send(frames);
  }

  void pass_reports(std::int64_t now) {
    std::string& reports = supervisor_.reports();
    if (reports.empty()) {
      hold_until_us_ = 0;
      return;
    }
    if (hold_until_us_ == 0) hold_until_us_ = now + kHoldUs;
    // While every lane has work the daemon is not needed at once; waking it for each attempt would
    // cost more than the attempt.
    if (supervisor_.may_hold_reports() && now < hold_until_us_) return;
    hold_until_us_ = 0;
    if (greeted_) {
      link_.send(reports);
    } else {
      reports.clear();
    }
  }

  int timeout_ms() const {
    std::int64_t next = supervisor_.next_due();
    if (hold_until_us_ != 0) next = std::min(next, hold_until_us_);
    if (!had_controller_) next = std::min(next, first_controller_by_us_);
    if (next == std::numeric_limits<std::int64_t>::max()) return -1;
    const std::int64_t wait_us = next - monotonic_us();
    if (wait_us <= 0) return 0;
    return static_cast<int>(std::min<std::int64_t>((wait_us + 999) / 1000, 1 << 30));
  }

  bool done() const {
    if (!supervisor_.idle()) return false;
    if (quitting_) return !link_.has_unsent();
    if (link_.connected() || supervisor_.unacknowledged() > 0) return false;
    return had_controller_ || monotonic_us() >= first_controller_by_us_;
  }

  // Notes that this incarnation ended with nothing lost: who comes next need not take attempts that
  // nobody knows for lost.
  void leave() {
    if (supervisor_.unacknowledged() == 0) {
      static_cast<void>(replace_file(home_ + "/run/keeper.clean", incarnation_).has_value());
    }
    unlink((home_ + "/run/keeper.sock").c_str());
  }

  std::string home_;
  std::string incarnation_;
  UniqueFd epoll_;
  UniqueFd signals_;
  Link link_;
  CgroupPool cgroups_;
  LimitsNote limits_;
  Supervisor supervisor_;
  std::int64_t first_controller_by_us_;
  std::int64_t hold_until_us_ = 0;
  bool had_controller_ = false;
  bool greeted_ = false;
  bool quitting_ = false;
};

// Nothing of the process that started this one may stay open here or reach a job.
void detach_process(const std::string& home) {
  close_range(3, ~0u, 0);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd log(
      open((home + "/run/keeper.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (null) {
    dup2(null.get(), 0);
    dup2(null.get(), 1);
    dup2(log ? log.get() : null.get(), 2);
  }
  setsid();
  if (chdir("/") != 0) fprintf(stderr, "keeper: cannot leave the current folder\n");
  prctl(PR_SET_NAME, "tutti-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
}

Result<UniqueFd> watch_children(int epoll) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  UniqueFd signals(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return io_error("cannot watch for ended children", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = signals.get();
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, signals.get(), &event) != 0) {
    return io_error("cannot watch for ended children", errno);
  }
  return signals;
}

// For whoever has to end a keeper that cannot be reached any more. A full disk must not keep one
// from starting: an old number names nobody.
void write_pid(int lock) {
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock, 0) != 0 || pwrite(lock, pid.data(), pid.size(), 0) < 0)
    fprintf(stderr, "keeper: cannot write its number: %s\n", strerror(errno));
}

Result<void> keep(const std::string& home) {
  const std::string lock_path = home + "/run/keeper.lock";
  const UniqueFd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return io_error("cannot open '" + lock_path + "'", errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return conflict("another keeper runs already");
  write_pid(lock.get());
  const std::string incarnation = random_word();
  Result<Launcher> launcher = Launcher::create(home, incarnation);
  if (!launcher) return launcher.error();
  launcher->change_own_limits();
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return io_error("cannot make an epoll descriptor", errno);
  Result<UniqueFd> signals = watch_children(epoll.get());
  if (!signals) return signals.error();
  Result<Link> link = Link::create(home, epoll.get());
  if (!link) return link.error();
  Keeper keeper(home, incarnation, std::move(epoll), std::move(*signals), std::move(*link),
                std::move(*launcher));
  keeper.run();
  return {};
}

}  // namespace

int keeper_main(const KeeperOptions& options) {
  std::error_code failed;
  const std::string home = std::filesystem::absolute(options.home, failed).string();
  if (Result<void> made = make_private_folder(home + "/run"); !made) {
    fprintf(stderr, "keeper: %s\n", made.error().message.c_str());
    return 1;
  }
  detach_process(home);
  const Result<void> kept = keep(home);
  if (kept) return 0;
  fprintf(stderr, "keeper: %s\n", kept.error().message.c_str());
  return kept.error().code == ErrorCode::kConflict ? 0 : 1;
}

}  // namespace tutti
