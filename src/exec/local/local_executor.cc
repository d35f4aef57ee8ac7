#include "exec/local/local_executor.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "exec/keeper/wall_time.h"

namespace tutti {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

Node node_of(const LocalOptions& options) {
  Node node;
  node.id = LocalExecutor::kNode;
  node.name = options.node_name;
  node.cpus = options.slots;
  node.memory = options.memory;
  node.free_cpus = options.slots;
  node.free_memory = options.memory;
  node.keeps_backlog = true;
  node.port_range = options.ports;
  node.port_origin = static_cast<std::uint32_t>(std::hash<std::string>()(options.home));
  return node;
}

AttemptEnded never_started(const StartAttempt& order, Ending ending, std::string message) {
  AttemptEnded ended;
  ended.attempt = order.attempt;
  ended.ended_at = wall_now();
  ended.outcome.ending = ending;
  if (ending == Ending::kNotStarted) ended.outcome.exit_code = 126;
  ended.outcome.message = std::move(message);
  ended.released = !order.staged;
  return ended;
}

ContextOrder context_order(const LaunchContext& context, std::string workdir) {
  ContextOrder order;
  order.job = context.job;
  order.workdir = std::move(workdir);
  order.env = context.env;
  order.cpus = context.limits.cpus;
  order.memory = context.limits.memory;
  order.time_limit = context.time_limit;
  order.grace = context.grace;
  return order;
}

// Which of the ports somebody listens on, in words; empty: none.
std::string taken_port(const std::vector<std::uint32_t>& ports) {
  for (const std::uint32_t port : ports) {
    const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int reuse = 1;
    setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
        errno == EADDRINUSE)
      return "port " + std::to_string(port) + " is taken by another program";
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::create(LocalOptions options) {
  if (options.slots.value <= 0) return invalid_input("a node needs at least one slot");
  if (options.node_name.empty()) options.node_name = host_name();
  auto executor = std::unique_ptr<LocalExecutor>(new LocalExecutor(std::move(options)));
  if (!executor->wake_) return io_error("cannot make an event descriptor", errno);
  return executor;
}

LocalExecutor::LocalExecutor(LocalOptions options)
    : options_(std::move(options)),
      place_{options_.home, options_.binary, options_.descriptors, options_.umask},
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      workdirs_(options_.home,
                [this](JobId job, const Result<void>& made) { workdir_ready(job, made); }) {}

LocalExecutor::~LocalExecutor() {
  stop_reading();
}

Result<void> LocalExecutor::attach(const Known&, ReportSink& sink) {
  stop_reading();
  stop_ = false;
  sink_ = &sink;
  Listing listing;
  const Result<bool> same = meet_keeper(listing);
  if (!same) return same.error();
  Inventory inventory;
  inventory.nodes = {kNode};
  inventory.same_incarnation = *same;
  for (const Listing::Staged& one : listing.staged) inventory.staged.push_back(one.attempt);
  for (const Listing::Running& one : listing.running) inventory.running.push_back(one.started);
  std::vector<Report> reports;
  reports.emplace_back(NodeChanged{node_of(options_)});
  for (AttemptEnded& ended : listing.ended) reports.emplace_back(std::move(ended));
  reports.emplace_back(std::move(inventory));
  sink.report(std::move(reports));
  // One that an earlier daemon has called down is up again; one that a user drains is not.
  if (access((options_.home + "/state/node-down").c_str(), F_OK) == 0) {
    tell_state(Node::State::kUp, "");
  }
  accept_orders();
  reader_ = std::thread([this] { read_loop(); });
  return {};
}

void LocalExecutor::order(std::vector<Effect> effects) {
  std::vector<Report> reports;
  {
    const std::lock_guard lock(mutex_);
    if (down_) {
      std::move(effects.begin(), effects.end(), std::back_inserter(deferred_));
      return;
    }
    std::string frames;
    for (Effect& effect : effects) carry_out(std::move(effect), frames, reports);
    send_locked(frames);
  }
  if (!reports.empty()) sink_->report(std::move(reports));
}

void LocalExecutor::journalled(std::span<const AttemptId> ended) {
  if (ended.empty()) return;
  const std::lock_guard lock(mutex_);
  if (down_) {
    deferred_acks_.insert(deferred_acks_.end(), ended.begin(), ended.end());
    return;
  }
  std::string frames;
  append_frame(frames, Ack{{ended.begin(), ended.end()}});
  send_locked(frames);
}

// Takes up what was ordered while there was no keeper, before anything new.
void LocalExecutor::accept_orders() {
  std::vector<Report> reports;
  {
    const std::lock_guard lock(mutex_);
    down_ = false;
    std::string frames;
    append_frame(frames, Ack{std::exchange(deferred_acks_, {})});
    for (Effect& effect : std::exchange(deferred_, {})) {
      carry_out(std::move(effect), frames, reports);
    }
    send_locked(frames);
  }
  if (!reports.empty()) sink_->report(std::move(reports));
}

void LocalExecutor::carry_out(Effect effect, std::string& frames, std::vector<Report>& reports) {
  std::visit([&](auto& one) { carry_out(std::move(one), frames, reports); }, effect);
}

void LocalExecutor::carry_out(StartAttempt order, std::string& frames,
                              std::vector<Report>& reports) {
  const LaunchContext& context = *order.context;
  const auto parked = parked_.find(context.job);
  if (parked != parked_.end()) {
    parked->second.push_back(std::move(order));
    return;
  }
  if (context.snapshot.empty() || workdirs_.is_ready(context.job, context.snapshot)) {
    get_ready(std::move(order), frames, reports);
    return;
  }
  workdirs_.make(context.job, context.snapshot);
  parked_[context.job].push_back(std::move(order));
}

// Its folder is there. A rank of a gang waits for the others, unless somebody has its port.
void LocalExecutor::get_ready(StartAttempt order, std::string& frames,
                              std::vector<Report>& reports) {
  if (!order.held) return start(std::move(order), frames);
  if (const std::string taken = taken_port(order.allocation.ports); !taken.empty()) {
    reports.emplace_back(never_started(order, Ending::kPreempted, taken));
    return;
  }
  const AttemptId attempt = order.attempt;
  held_.insert_or_assign(attempt, std::move(order));
  reports.emplace_back(AttemptReady{attempt});
}

void LocalExecutor::carry_out(const ReleaseAttempt& order, std::string& frames,
                              std::vector<Report>&) {
  auto held = held_.extract(order.attempt);
  if (!held.empty()) start(std::move(held.mapped()), frames);
}

void LocalExecutor::start(StartAttempt order, std::string& frames) {
  const LaunchContext& context = *order.context;
  roster_.ordered(order.attempt, order.lane, order.staged);
  if (contexts_.use(context.job, context.group)) {
    const std::string workdir =
        context.snapshot.empty() ? context.workdir : workdirs_.folder_of(context.job);
    append_frame(frames, context_order(context, workdir));
  }
  StartOrder message;
  message.attempt = order.attempt;
  message.lane = order.lane;
  message.staged = order.staged;
  message.launch = std::move(order.launch);
  if (!message.launch.cleanup.empty() && keeper_version_ >= kCleanupVersion)
    append_frame(frames, CleanupOrder{message.attempt, message.launch.cleanup});
  append_frame(frames, message);
}

void LocalExecutor::carry_out(const StopAttempt& order, std::string& frames,
                              std::vector<Report>& reports) {
  if (withdraw_parked(order.attempt, order.cause, reports)) return;
  append_frame(frames, StopOrder{order.attempt, order.cause});
}

void LocalExecutor::carry_out(const RecallAttempt& order, std::string& frames,
                              std::vector<Report>& reports) {
  if (withdraw_parked(order.attempt, Ending::kRecalled, reports)) return;
  append_frame(frames, RecallOrder{order.attempt});
}

bool LocalExecutor::withdraw_parked(AttemptId attempt, Ending ending,
                                    std::vector<Report>& reports) {
  if (auto held = held_.extract(attempt); !held.empty()) {
    reports.emplace_back(never_started(held.mapped(), ending, ""));
    return true;
  }
  const auto parked = parked_.find(attempt.task.job);
  if (parked == parked_.end()) return false;
  std::vector<StartAttempt>& orders = parked->second;
  const auto at = std::find_if(orders.begin(), orders.end(),
                               [&](const StartAttempt& one) { return one.attempt == attempt; });
  if (at == orders.end()) return false;
  reports.emplace_back(never_started(*at, ending, ""));
  orders.erase(at);
  return true;
}

void LocalExecutor::workdir_ready(JobId job, const Result<void>& made) {
  std::vector<Report> reports;
  {
    const std::lock_guard lock(mutex_);
    const auto parked = parked_.find(job);
    if (parked == parked_.end()) return;
    std::vector<StartAttempt> orders = std::move(parked->second);
    parked_.erase(parked);
    std::string frames;
    for (StartAttempt& order : orders) {
      if (!made) {
        const std::string why = "cannot make the work directory from its snapshot: ";
        reports.emplace_back(never_started(order, Ending::kNotStarted, why + made.error().message));
      } else if (down_) {
        deferred_.emplace_back(std::move(order));
      } else {
        get_ready(std::move(order), frames, reports);
      }
    }
    if (!down_) send_locked(frames);
  }
  if (!reports.empty()) sink_->report(std::move(reports));
}

void LocalExecutor::forget_use(JobId job, std::string& frames) {
  if (const std::optional<JobId> dropped = contexts_.release(job)) {
    append_frame(frames, DropContext{*dropped});
  }
}

}  // namespace tutti
