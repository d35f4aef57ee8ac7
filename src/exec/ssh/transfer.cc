#include "exec/ssh/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/unique_fd.h"
#include "exec/local/snapshot.h"
#include "exec/ssh/nonce.h"
#include "exec/ssh/shell_quote.h"
#include "exec/ssh/snapshot_tar.h"
#include "exec/ssh/spawn.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostThreads = 4;
constexpr int kPipeSize = 1 << 20;

Result<void> make_folders(const std::string& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) return io_error("cannot make the folder '" + path + "'", failed.value());
  return {};
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool has_program(const char* name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, colon)) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return false;
}

// What a temporary file holds, without line ends at its end; the last kilobyte.
std::string text_of(int fd) {
  std::string text(1024, '\0');
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const ssize_t n = ::pread(fd, text.data(), text.size(), std::max<off_t>(size - 1024, 0));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

Transfers::~Transfers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wanted_.clear();
    for (const pid_t child : children_) ::kill(child, SIGKILL);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Transfers::stage(Staging staging, Done done) {
  push([this, staging = std::move(staging), done = std::move(done)] { done(stage_now(staging)); });
}

void Transfers::collect(Collection collection, Done done) {
  push([this, collection = std::move(collection), done = std::move(done)] {
    done(collect_now(collection));
  });
}

void Transfers::push(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stop_) return;
  wanted_.push_back(std::move(work));
  if (idle_ < wanted_.size() && threads_.size() < kMostThreads)
    threads_.emplace_back([this] { run(); });
  changed_.notify_one();
}

void Transfers::run() {
  // Who feeds a program that ends is told so by an error.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return stop_ || !wanted_.empty(); });
    --idle_;
    if (stop_) return;
    const std::function<void()> work = std::move(wanted_.front());
    wanted_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

Result<void> Transfers::pipeline(const Programs& programs, const Feed& feed) {
  const UniqueFd errors(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!errors) return io_error("cannot make a temporary file in /tmp", errno);
  std::array<int, 2> fds{-1, -1};
  if (feed && ::pipe2(fds.data(), O_CLOEXEC) != 0) return io_error("cannot make a pipe", errno);
  UniqueFd input(fds[1]);
  // Fewer changes between processes. A smaller pipe does as well.
  if (feed) ::fcntl(input.get(), F_SETPIPE_SZ, kPipeSize);
  std::vector<pid_t> pids;
  const Result<void> started = start(programs, UniqueFd(fds[0]), errors.get(), pids);
  const Result<void> fed = started && feed ? feed(input.get()) : Result<void>();
  input.reset();
  const Result<void> ended = wait(programs, errors.get(), pids);
  if (!started) return started;
  // That a program has gone is told better by itself.
  if (!fed && (ended || fed.error().code != ErrorCode::kUnavailable)) return fed;
  return ended;
}

Result<void> Transfers::start(const Programs& programs, UniqueFd input, int errors,
                              std::vector<pid_t>& pids) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::array<int, 2> fds{-1, -1};
    const bool last = i + 1 == programs.size();
    if (!last && ::pipe2(fds.data(), O_CLOEXEC) != 0) return io_error("cannot make a pipe", errno);
    const UniqueFd writing(fds[1]);
    UniqueFd reading(fds[0]);
    const std::lock_guard lock(mutex_);
    if (stop_) return Error{ErrorCode::kUnavailable, "the daemon is stopping"};
    const Result<pid_t> pid = spawn(programs[i], input.get(), writing.get(), errors, false);
    if (!pid) return pid.error();
    input = std::move(reading);
    pids.push_back(*pid);
    children_.insert(*pid);
  }
  return {};
}

Result<void> Transfers::wait(const Programs& programs, int errors, const std::vector<pid_t>& pids) {
  Result<void> result;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    int raw = 0;
    while (::waitpid(pids[i], &raw, 0) < 0 && errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    children_.erase(pids[i]);
    if (!result || (WIFEXITED(raw) && WEXITSTATUS(raw) == 0)) continue;
    result = Error{ErrorCode::kUnavailable, programs[i][0] + " failed: " + text_of(errors)};
  }
  return result;
}

Result<void> Transfers::stage_now(const Staging& staging) {
  const std::string there = staging.root + "/files/" + staging.digest;
  const std::string fresh = shell_quoted(there + ".new-" + random_word());
  const std::string final = shell_quoted(there);
  const std::string mark = ".tutti-end-" + random_word();
  // Only if the stream's end has come: tar takes a part of one for a whole. Of two that come at the
  // same time the first is as good as the second. GNU's tar spends half as much time on pieces of
  // 256 KiB; others do not look at that variable. Of a full disk it says that it "wrote only" a
  // part: who writes after it is told why.
  const std::string take =
      "umask 077; mkdir -p " + fresh + " && TAR_OPTIONS=--blocking-factor=512 tar -xpof - -C " +
      fresh + " && rm " + fresh + "/" + mark + " || { head -c 65536 /dev/zero | cat >" + fresh +
      "/" + mark + "; rm -rf " + fresh + "; exit 1; }; mv -T " + fresh + " " + final +
      " 2>/dev/null || { [ -d " + final + " ] && rm -rf " + fresh + "; } || mv " + fresh + " " +
      final;
  return pipeline({staging.command.session(take)}, [&](int fd) {
    return write_snapshot_tar(SnapshotFolder(staging.home), staging.digest, mark, fd);
  });
}

Result<void> Transfers::collect_now(const Collection& collection) {
  const std::string partial = collection.folder + ".partial";
  if (Result<void> made = make_folders(partial); !made) return made;
  Result<void> copied;
  if (collection.rsync && has_program("rsync")) {
    std::vector<std::string> argv = {"rsync",      "-as", "--partial",
                                     "--relative", "-e",  collection.command.for_rsync()};
    for (const std::string& path : collection.paths)
      argv.push_back(collection.command.host() + ":" + collection.work + "/./" + path);
    argv.push_back(partial + "/");
    copied = pipeline({argv});
  } else {
    // The login's start-up files may print: what counts begins after the mark. A shell reads no
    // further than the line that it wants.
    const std::string mark = "tutti-" + random_word();
    std::string give =
        "printf '\\n%s\\n' " + mark + "; cd " + shell_quoted(collection.work) + " && tar -cf -";
    for (const std::string& path : collection.paths) give += " " + shell_quoted("./" + path);
    const std::string take = "while IFS= read -r line; do [ \"$line\" = " + mark +
                             " ] && exec tar -C \"$0\" -xpof -; done; exit 1";
    copied = pipeline({collection.command.session(give), {"sh", "-c", take, partial}});
  }
  if (!copied) return copied;
  const std::string old = collection.folder + ".old-" + random_word();
  const bool replaced = ::rename(collection.folder.c_str(), old.c_str()) == 0;
  if (::rename(partial.c_str(), collection.folder.c_str()) != 0)
    return io_error("cannot make the folder '" + collection.folder + "'", errno);
  if (replaced) remove_tree(old);
  return {};
}

}  // namespace tutti
