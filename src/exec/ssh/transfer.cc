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
#include <optional>
#include <utility>

#include "base/random_word.h"
#include "base/spawn.h"
#include "base/unique_fd.h"
#include "core/spec/text.h"
#include "exec/keeper/folders.h"
#include "exec/local/snapshot.h"
#include "exec/ssh/shell_quote.h"
#include "exec/ssh/snapshot_change.h"
#include "exec/ssh/snapshot_tar.h"

namespace tutti {
namespace {

constexpr std::size_t kMostThreads = 4;
constexpr int kPipeSize = 1 << 20;
constexpr std::size_t kMostPadding = 64 << 10;
// A program takes no longer word.
constexpr std::size_t kLongestCommand = 64 << 10;

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

// Whether a program ended as ssh and rsync do without a connection, or was killed.
bool was_cut_off(int status) {
  constexpr std::array<int, 5> kCutOff = {255, 10, 12, 30, 35};
  return !WIFEXITED(status) ||
         std::find(kCutOff.begin(), kCutOff.end(), WEXITSTATUS(status)) != kCutOff.end();
}

std::string files_folder(const std::string& root, const std::string& digest) {
  return root + "/files/" + digest;
}

std::string removal_of(const std::vector<std::string>& paths) {
  std::string command = "rm -rf";
  for (const std::string& path : paths) command += " " + shell_quoted("./" + path);
  return paths.empty() ? ":" : command;
}

// Files that a host has, and what makes them those that are wanted.
struct AlikeFiles {
  std::string digest;
  SnapshotChange change;
};

// Those with the least to send; none if that is more than half.
std::optional<AlikeFiles> most_alike(const SnapshotFolder& snapshots,
                                     const SnapshotManifest& wanted,
                                     const std::vector<std::string>& digests) {
  std::optional<AlikeFiles> best;
  std::int64_t least = bytes_of(snapshots, wanted) / 2;
  for (const std::string& digest : digests) {
    const Result<SnapshotManifest> manifest = snapshots.load(digest);
    if (!manifest) continue;
    SnapshotChange change = snapshot_change(*manifest, wanted);
    const std::int64_t bytes = bytes_of(snapshots, change.added);
    if (bytes >= least || removal_of(change.gone).size() > kLongestCommand) continue;
    least = bytes;
    best = {digest, std::move(change)};
  }
  return best;
}

// Both ends of a pipe.
struct WidePipe {
  bool open() {
    std::array<int, 2> fds{-1, -1};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) return false;
    reading = UniqueFd(fds[0]);
    writing = UniqueFd(fds[1]);
    // Fewer changes between processes. A smaller pipe does as well.
    ::fcntl(writing.get(), F_SETPIPE_SZ, kPipeSize);
    return true;
  }
  UniqueFd reading;
  UniqueFd writing;
};

// Reads up to the line "MARK TOTAL", notes the total and returns what was read behind it.
Result<std::string> read_to_mark(int from, const std::string& mark, TransferMeter& meter) {
  const std::string wanted = "\n" + mark + " ";
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    const std::size_t at = text.find(wanted);
    const std::size_t end = at == text.npos ? text.npos : text.find('\n', at + wanted.size());
    if (end != text.npos) {
      const std::string_view total =
          std::string_view(text).substr(0, end).substr(at + wanted.size());
      if (const auto bytes = parse_digits(total, INT64_MAX)) {
        meter.total = static_cast<std::int64_t>(*bytes);
      }
      return text.substr(end + 1);
    }
    // Of what a login prints no more is kept than a part of the mark may be in.
    if (at == text.npos && text.size() > wanted.size()) text.erase(0, text.size() - wanted.size());
    const ssize_t n = ::read(from, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read the stream of files", errno);
    if (n == 0) return Error{ErrorCode::kUnavailable, "the other end sent no files"};
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
}

// tar goes when it has seen the end of an archive, behind which there is a little padding. How it
// went, its status tells.
bool ends_soon(int from) {
  std::array<char, 4096> piece;
  for (std::size_t padding = 0; padding < kMostPadding;) {
    const ssize_t n = ::read(from, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    padding += static_cast<std::size_t>(n);
  }
  return false;
}

Result<void> carry_results(int from, int to, const std::string& mark, TransferMeter& meter) {
  const Result<std::string> first = read_to_mark(from, mark, meter);
  if (!first) return first.error();
  for (std::string_view rest = *first; !rest.empty();) {
    const ssize_t n = ::write(to, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error{ErrorCode::kUnavailable, "tar has closed the stream of files"};
    rest.remove_prefix(static_cast<std::size_t>(n));
    meter.done += n;
  }
  while (true) {
    const ssize_t n = ::splice(from, nullptr, to, nullptr, kPipeSize, SPLICE_F_MOVE);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE && ends_soon(from)) return {};
    if (n < 0) return Error{ErrorCode::kUnavailable, "tar has closed the stream of files"};
    if (n == 0) return {};
    meter.done += n;
  }
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
  TransferLabel label{staging.node, false, staging.digest, staging.job};
  push(
      std::move(label),
      [this, staging = std::move(staging)](TransferMeter& meter) {
        return stage_now(staging, meter);
      },
      std::move(done));
}

void Transfers::collect(Collection collection, Done done) {
  TransferLabel label{collection.node, true, {}, collection.job};
  push(
      std::move(label),
      [this, collection = std::move(collection)](TransferMeter& meter) {
        return collect_now(collection, meter);
      },
      std::move(done));
}

void Transfers::push(TransferLabel label, Work work, Done done) {
  const std::lock_guard lock(mutex_);
  if (stop_) return;
  wanted_.emplace_back(
      [this, entry = board_.add(std::move(label)), work = std::move(work), done = std::move(done)] {
        board_.begin(*entry);
        const Result<void> result = work(entry->meter);
        board_.remove(entry);
        done(result);
      });
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

Result<void> Transfers::pipeline(const Words& source, const Relay& relay, const Words& sink) {
  const UniqueFd errors(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!errors) return io_error("cannot make a temporary file in /tmp", errno);
  WidePipe from;
  WidePipe to;
  if (!from.open() || !to.open()) return io_error("cannot make a pipe", errno);
  std::vector<pid_t> pids;
  Result<void> started;
  if (!source.empty()) started = start(source, -1, from.writing.get(), errors.get(), pids);
  if (started && !sink.empty()) started = start(sink, to.reading.get(), -1, errors.get(), pids);
  from.writing.reset();
  to.reading.reset();
  const Result<void> carried =
      started ? relay(from.reading.get(), to.writing.get()) : Result<void>();
  from.reading.reset();
  to.writing.reset();
  const Result<void> ended = wait(pids, source.empty() ? sink[0] : source[0], errors.get());
  if (!started) return started;
  // That a program has gone is told better by itself.
  if (!carried && (ended || carried.error().code != ErrorCode::kUnavailable)) return carried;
  return ended;
}

Result<void> Transfers::start(const Words& program, int in, int out, int errors,
                              std::vector<pid_t>& pids) {
  const std::lock_guard lock(mutex_);
  if (stop_) return Error{ErrorCode::kUnavailable, "the daemon is stopping"};
  const Result<pid_t> pid = spawn(program, in, out, errors, false);
  if (!pid) return pid.error();
  pids.push_back(*pid);
  children_.insert(*pid);
  return {};
}

Result<void> Transfers::wait(const std::vector<pid_t>& pids, const std::string& name, int errors) {
  Result<void> result;
  for (const pid_t pid : pids) {
    int raw = 0;
    while (::waitpid(pid, &raw, 0) < 0 && errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    children_.erase(pid);
    if (!result || (WIFEXITED(raw) && WEXITSTATUS(raw) == 0)) continue;
    // What all of them said, since one fails because another did.
    result = Error{was_cut_off(raw) ? ErrorCode::kUnavailable : ErrorCode::kIo,
                   name + " failed: " + text_of(errors)};
  }
  return result;
}

// What other files there have in common with these is taken from them as links: nobody writes to
// staged files. Where that does not work, or they are gone, all is sent.
Result<void> Transfers::stage_now(const Staging& staging, TransferMeter& meter) {
  const SnapshotFolder snapshots(staging.home);
  const Result<SnapshotManifest> wanted = snapshots.load(staging.digest);
  if (!wanted) return wanted.error();
  if (const auto like = most_alike(snapshots, *wanted, staging.there)) {
    const std::string begin = "cp -al " + shell_quoted(files_folder(staging.root, like->digest)) +
                              " \"$1\" && cd \"$1\" && " + removal_of(like->change.gone);
    const Result<void> sent = send_files(staging, like->change.added, begin, meter);
    if (sent || sent.error().code == ErrorCode::kUnavailable) return sent;
  }
  return send_files(staging, *wanted, "mkdir -p \"$1\"", meter);
}

Result<void> Transfers::send_files(const Staging& staging, const SnapshotManifest& entries,
                                   const std::string& begin, TransferMeter& meter) {
  const std::string there = files_folder(staging.root, staging.digest);
  const std::string fresh = shell_quoted(there + ".new-" + random_word());
  const std::string final = shell_quoted(there);
  const std::string mark = ".tutti-end-" + random_word();
  // Only if the stream's end has come: tar takes a part of one for a whole. Of two that come at the
  // same time the first is as good as the second. GNU's tar spends half as much time on pieces of
  // 256 KiB; others do not look at that variable. Of a full disk it says that it "wrote only" a
  // part: who writes after it is told why.
  const std::string take =
      "umask 077; set -- " + fresh + "; (" + begin +
      ") && TAR_OPTIONS=--blocking-factor=512 tar -xpof - -C " + fresh + " && rm " + fresh + "/" +
      mark + " || { head -c 65536 /dev/zero | cat >" + fresh + "/" + mark + "; rm -rf " + fresh +
      "; exit 1; }; mv -T " + fresh + " " + final + " 2>/dev/null || { [ -d " + final +
      " ] && rm -rf " + fresh + "; } || mv " + fresh + " " + final;
  const auto write = [&](int, int to) {
    return write_snapshot_tar(SnapshotFolder(staging.home), entries, mark, to, meter,
                              staging.knows_holes ? TarHoles::kLeftOut : TarHoles::kAsZeros);
  };
  return pipeline({}, write, staging.command.session(take));
}

// The login's start-up files may print: what counts begins after the mark.
Result<void> Transfers::collect_stream(const Collection& collection, const std::string& partial,
                                       TransferMeter& meter) {
  const std::string mark = "tutti-" + random_word();
  std::string paths;
  for (const std::string& path : collection.paths) paths += " " + shell_quoted("./" + path);
  // Where du does not know -b, the size is not known. Where tar is GNU's, holes stay holes.
  const std::string give = "cd " + shell_quoted(collection.work) + " || exit 1; set -- $(du -scb" +
                           paths + " 2>/dev/null | tail -n 1); printf '\\n%s %s\\n' " + mark +
                           " \"$1\"; set -- c; case $(tar --version 2>/dev/null) in *GNU*) " +
                           "set -- cS ;; esac; exec tar \"-$1f\" -" + paths;
  const auto carry = [&](int from, int to) { return carry_results(from, to, mark, meter); };
  return pipeline(collection.command.session(give), carry, {"tar", "-C", partial, "-xpof", "-"});
}

// Goes on where an earlier try was cut off.
Result<void> Transfers::collect_rest(const Collection& collection, const std::string& partial) {
  Words argv = {"rsync", "-asS", "--partial", "--relative", "-e", collection.command.for_rsync()};
  for (const std::string& path : collection.paths)
    argv.push_back(collection.command.host() + ":" + collection.work + "/./" + path);
  argv.push_back(partial + "/");
  return pipeline(
      {}, [](int, int) { return Result<void>(); }, argv);
}

Result<void> Transfers::collect_now(const Collection& collection, TransferMeter& meter) {
  const std::string partial = collection.folder + ".partial";
  std::error_code failed;
  const bool begun = std::filesystem::exists(partial, failed);
  if (Result<void> made = make_folders(partial); !made) return made;
  const bool rest = begun && collection.rsync && has_program("rsync");
  const Result<void> copied =
      rest ? collect_rest(collection, partial) : collect_stream(collection, partial, meter);
  if (!copied) return copied;
  const std::string old = collection.folder + ".old-" + random_word();
  const bool replaced = ::rename(collection.folder.c_str(), old.c_str()) == 0;
  if (::rename(partial.c_str(), collection.folder.c_str()) != 0)
    return io_error("cannot make the folder '" + collection.folder + "'", errno);
  if (replaced) remove_tree(old);
  return {};
}

}  // namespace tutti
