#include "exec/ssh/ssh_executor.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/home.h"
#include "base/random_word.h"
#include "exec/keeper/folders.h"

namespace tutti {
namespace {

// Of a socket, with the node's number, what a link adds, and the suffix that ssh first binds it
// with.
constexpr std::size_t kLongestSocketName = 36;

// Those that a killed daemon left.
void remove_sockets(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with("ssh-"))
      std::filesystem::remove(entry.path(), ignored);
  }
}

Result<std::string> make_sockets_folder(const std::string& home) {
  std::string folder = socket_folder(home, kLongestSocketName);
  if (Result<void> made = make_socket_folder(folder + "/ssh"); !made) return made.error();
  remove_sockets(folder);
  return folder;
}

// Hosts keep what belongs to different daemons apart; the name outlives a restart.
Result<std::string> identity_of(const std::string& home) {
  const std::string path = home + "/state/ssh-identity";
  if (Result<std::string> known = read_small_file(path); known && known->size() == 32) return known;
  if (Result<void> made = make_private_folder(home + "/state"); !made) return made.error();
  std::string fresh = random_word();
  if (Result<void> kept = replace_file(path, fresh); !kept) return kept.error();
  return fresh;
}

// A node's name in a path.
std::string plain(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '/' || c == '\0'; }, '_');
  return text;
}

}  // namespace

Result<std::unique_ptr<SshExecutor>> SshExecutor::create(Options options, Clock& clock) {
  Result<std::string> sockets = make_sockets_folder(options.home);
  if (!sockets) return sockets.error();
  Result<std::string> identity = identity_of(options.home);
  if (!identity) return identity.error();
  auto executor = std::unique_ptr<SshExecutor>(
      new SshExecutor(std::move(options), clock, *std::move(sockets), *std::move(identity)));
  if (!executor->wake_) return io_error("cannot make an event descriptor", errno);
  return executor;
}

SshExecutor::SshExecutor(Options options, Clock& clock, std::string sockets, std::string identity)
    : options_(std::move(options)),
      clock_(clock),
      sockets_(std::move(sockets)),
      identity_(std::move(identity)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

SshExecutor::~SshExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  post([] {});
  if (thread_.joinable()) thread_.join();
}

void SshExecutor::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  static_cast<void>(write(wake_.get(), &one, sizeof one) == sizeof one);
}

Result<void> SshExecutor::attach(const Known& known, ReportSink& sink) {
  if (sink_ != &sink) sink_ = &sink;  // once: the thread reads it
  Inventory inventory{.same_incarnation = true};
  for (const Node& node : known.nodes) inventory.nodes.push_back(node.id);
  for (const KnownAttempt& one : known.attempts) {
    if (one.started_at) {
      inventory.running.push_back({one.id, one.started_at, one.pid, one.pid_birth});
    } else {
      inventory.staged.push_back(one.id);
    }
  }
  if (!inventory.nodes.empty()) sink.report({std::move(inventory)});
  post([this, known] { take(known); });
  // Nothing to do for most: then there is no thread either.
  if (!thread_.joinable() && !known.nodes.empty()) thread_ = std::thread([this] { run(); });
  return {};
}

void SshExecutor::order(std::vector<Effect> effects) {
  post([this, effects = std::move(effects)]() mutable {
    for (Effect& effect : effects) std::visit([this](auto& one) { carry_out(one); }, effect);
  });
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void SshExecutor::journalled(std::span<const AttemptId> ended) {
  if (!thread_.joinable()) return;
  post([this, ended = std::vector<AttemptId>(ended.begin(), ended.end())] {
    for (const auto& [id, host] : hosts_) {
      for (const AttemptId& attempt : ended) host->forget(attempt);
    }
  });
}

std::optional<NodeMeasurement> SshExecutor::latest(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = measured_.find(node);
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

void SshExecutor::measure_now(NodeId node) {
  post([this, node] {
    if (Host* const one = host(node)) one->measure();
  });
}

// ---- the thread

void SshExecutor::run() {
  while (true) {
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      work.swap(inbox_);
    }
    for (const auto& one : work) one();
    const TimePoint due = tick_all();
    report_all();
    poll_all(due);
  }
}

TimePoint SshExecutor::tick_all() {
  const TimePoint now = clock_.now();
  TimePoint due;
  for (const auto& [id, host] : hosts_) due = earlier(due, host->tick(now));
  return due;
}

void SshExecutor::poll_all(TimePoint due) {
  polled_.clear();
  polled_.push_back({wake_.get(), POLLIN, 0});
  for (const auto& [id, host] : hosts_) host->add_to(polled_);
  constexpr std::int64_t kLongest = 60'000;
  std::int64_t wait = kLongest;
  if (due) wait = std::clamp<std::int64_t>((due - clock_.now()).value / 1000 + 1, 0, kLongest);
  if (::poll(polled_.data(), polled_.size(), static_cast<int>(wait)) < 0) return;
  if (polled_[0].revents != 0) {
    std::uint64_t count = 0;
    static_cast<void>(read(wake_.get(), &count, sizeof count) == sizeof count);
  }
  const TimePoint now = clock_.now();
  std::size_t at = 1;
  for (const auto& [id, host] : hosts_) {
    host->serve(&polled_[at], now);
    at += Host::kPolled;
  }
  report_all();
}

void SshExecutor::report_all() {
  std::vector<Report> reports = std::exchange(reports_, {});
  for (const auto& [id, host] : hosts_) {
    std::vector<Report> told = host->take_reports();
    if (told.empty()) continue;
    publish(*host);
    std::move(told.begin(), told.end(), std::back_inserter(reports));
  }
  if (!reports.empty()) sink_->report(std::move(reports));
}

void SshExecutor::publish(const Host& host) {
  if (!host.measured()) return;
  const std::lock_guard lock(mutex_);
  measured_[host.node().id] = *host.measured();
}

Host* SshExecutor::host(NodeId node) {
  const auto found = hosts_.find(node);
  return found == hosts_.end() ? nullptr : found->second.get();
}

void SshExecutor::take(const Known& known) {
  for (const Node& node : known.nodes) {
    if (!node.remote.address.empty() && node.state != Node::State::kGone) watch(node);
  }
  for (const KnownAttempt& one : known.attempts) {
    if (Host* const there = host(one.allocation.node)) {
      there->adopt(one);
    } else {
      refuse(one.id, one.allocation.node);
    }
  }
  for (const auto& [id, host] : hosts_) host->tell_again();
}

void SshExecutor::watch(const Node& node) {
  if (Host* const known = host(node.id); known != nullptr) {
    known->use_key(node.remote.key);
    return node.state == Node::State::kDown ? known->try_now() : known->tell_state();
  }
  HostPlace place;
  place.home = options_.home;
  place.root = identity_ + "/" + plain(node.name);
  place.socket = sockets_ + "/ssh-" + std::to_string(node.id.value);
  place.config = options_.config;
  const Host::Post to_host = [this, id = node.id](std::function<void(Host&)> work) {
    post([this, id, work = std::move(work)] {
      if (Host* const there = host(id)) work(*there);
    });
  };
  hosts_[node.id] = std::make_unique<Host>(node, std::move(place), transfers_, to_host);
}

void SshExecutor::carry_out(StartAttempt& order) {
  Host* const there = host(order.allocation.node);
  if (there == nullptr) return refuse(order.attempt, order.allocation.node);
  there->start(std::move(order));
}

void SshExecutor::carry_out(const ReleaseAttempt& order) {
  if (Host* const there = host(order.node)) there->release(order.attempt);
}

void SshExecutor::carry_out(const StopAttempt& order) {
  if (Host* const there = host(order.node)) there->stop(order.attempt, order.cause);
}

void SshExecutor::carry_out(const ForgetNode& order) {
  hosts_.erase(order.node);
  const std::lock_guard lock(mutex_);
  measured_.erase(order.node);
}

void SshExecutor::refuse(AttemptId attempt, NodeId /*node*/) {
  Outcome outcome{.ending = Ending::kPreempted, .message = "its node is not there any more"};
  reports_.emplace_back(AttemptEnded{attempt, {}, clock_.now(), std::move(outcome), true});
}

}  // namespace tutti
