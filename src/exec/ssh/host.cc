#include "exec/ssh/host.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tutti {
namespace {

constexpr Duration kFirstPause = seconds(1);
constexpr Duration kLongestPause = seconds(30);
constexpr Duration kHopelessPause = seconds(60);
// How long the list of what runs there, and every measurement, may take.
constexpr Duration kAnswerPatience = seconds(60);

std::string words_of(Duration time) {
  const std::int64_t whole = time.value / 1000000;
  return whole >= 120 ? std::to_string(whole / 60) + " min" : std::to_string(whole) + " s";
}

}  // namespace

Host::Host(Node node, HostPlace place, Transfers& transfers, Post post)
    : node_(std::move(node)),
      place_(std::move(place)),
      transfers_(transfers),
      post_(std::move(post)),
      link_(node_.name, SshCommand(node_.remote, "", place_.config), place_.socket, place_.root),
      output_(link_.command()),
      up_(node_.state == Node::State::kUp),
      pause_(kFirstPause) {
  node_.port_origin = static_cast<std::uint32_t>(std::hash<std::string>()(place_.root));
}

void Host::open() {
  listed_ = false;
  list_.clear();
  link_.open(now_);
  answer_by_ = now_ + kAnswerPatience;
  output_.use(link_.command());
  if (link_.state() == AgentLink::State::kClosed) cut_off();
}

void Host::add_to(std::vector<pollfd>& polled) const {
  link_.add_to(polled);
  output_.add_to(polled);
}

void Host::serve(const pollfd* polled, TimePoint now) {
  now_ = now;
  const bool alive = link_.serve(polled, now, [this](AgentMessage message) {
    std::visit([this](const auto& one) { take(one); }, message);
  });
  if (!alive) return cut_off();
  if (link_.state() == AgentLink::State::kReady) output_.serve(polled + 3);
}

void Host::cut_off() {
  forgotten_.clear();  // the next list shows them
  output_.close(true);
  listed_ = false;
  for (auto& [id, run] : runs_) {
    run.out.asked = run.err.asked = false;
    // What failed because of this, did not fail; it is taken up again when there is a connection.
    if (run.phase == Phase::kFiles && run.try_at) run.phase = Phase::kReady;
    run.try_at = TimePoint();
    run.tries = 0;
  }
  if (!down_since_) down_since_ = now_;
  up_ = false;
  tell_state();
  open_at_ = now_ + (link_.hopeless() ? kHopelessPause : pause_);
  pause_ = std::min(pause_ + pause_, kLongestPause);
}

void Host::tell_state() {
  if (up_) {
    reports_.emplace_back(NodeStateChanged{node_.id, Node::State::kUp, ""});
  } else if (!link_.trouble().empty()) {
    reports_.emplace_back(NodeStateChanged{node_.id, Node::State::kDown, link_.trouble()});
  } else {
    open_at_ = now_;
  }
}

void Host::use_key(const std::string& key) {
  if (node_.remote.key == key) return;
  node_.remote.key = key;
  link_.use(SshCommand(node_.remote, "", place_.config));
}

void Host::try_now() {
  if (link_.state() != AgentLink::State::kClosed) return tell_state();
  open_at_ = now_;
}

// It may come back, but those who wait for its attempts have waited long enough.
void Host::give_up() {
  for (auto& [id, run] : runs_) {
    if (run.phase == Phase::kTold) continue;
    lose(run, node_.name + " was cut off for " + words_of(node_.remote.patience));
  }
}

TimePoint Host::tick(TimePoint now) {
  now_ = now;
  if (link_.state() == AgentLink::State::kClosed) {
    if (!open_at_ || open_at_ <= now) open();
    const TimePoint patience = down_since_ ? down_since_ + node_.remote.patience : TimePoint();
    const bool waiting = std::any_of(runs_.begin(), runs_.end(), [](const auto& one) {
      return one.second.phase != Phase::kTold;
    });
    if (patience && patience <= now && waiting) give_up();
    if (link_.state() == AgentLink::State::kClosed)
      return earlier(open_at_, waiting && patience > now ? patience : TimePoint());
  }
  if (link_.state() == AgentLink::State::kOpening) return now + AgentLink::kOpenPatience;
  // The connection lives, but the shell at its end may hang, as it does when a home is gone.
  if (answer_by_ && answer_by_ <= now) {
    link_.give_up(node_.name + " takes orders, but does not answer: is its home reachable?");
    cut_off();
    return open_at_;
  }
  if (!listed_) return answer_by_;
  if (probe_at_ <= now) measure();
  if (!answer_by_) answer_by_ = now + kAnswerPatience;
  TimePoint due = earlier(probe_at_, answer_by_);
  tell_starts(due);
  try_again(due);
  for (auto& [id, run] : runs_) {
    if (run.phase != Phase::kRunning) continue;
    for (RunOutput* output : {&run.out, &run.err}) {
      if (output->path.empty() || output->asked) continue;
      if (output->next <= now)
        look_for_output(run, *output);
      else
        due = earlier(due, output->next);
    }
  }
  return earlier(due, output_.rest(now));
}

void Host::take(const AgentHello& hello) {
  root_ = hello.root;
  has_rsync_ = hello.has_rsync;
  knows_holes_ = hello.knows_holes;
  node_.address = hello.address;
  node_.daemon_address = hello.client;
}

void Host::take(const AgentUnusable& unusable) {
  link_.give_up(node_.name + ": " + unusable.reason);
}

// After the list it is told of one that it showed as running.
void Host::take(const AgentListed& listed) {
  if (!listed_) {
    list_[listed.attempt] = listed;
  } else if (Run* const run = find(listed.attempt);
             run != nullptr && run->phase == Phase::kRunning) {
    settle(*run, &listed);
  }
}

void Host::take(const AgentListEnd&) {
  listed_ = true;
  pause_ = kFirstPause;
  down_since_ = TimePoint();
  for (auto& [id, run] : runs_) {
    const auto found = list_.find(id);
    settle(run, found != list_.end() ? &found->second : nullptr);
  }
  // What nobody waits for any more.
  for (const auto& [id, listed] : list_) {
    if (runs_.contains(id)) continue;
    if (listed.state == AgentListed::State::kRunning) {
      link_.call("tutti_stop", {attempt_key(id), "10", "cancelled"});
    } else {
      link_.call("tutti_forget", {attempt_key(id)});
    }
  }
  list_.clear();
  smi_at_ = TimePoint();
  measure();
}

// What became of a run while there was no connection.
void Host::settle(Run& run, const AgentListed* listed) {
  const bool unsent = run.phase < Phase::kSent;
  if (run.phase == Phase::kOutput || run.phase == Phase::kResults) return go_on(run);
  if (run.phase == Phase::kTold || run.phase == Phase::kFiles || run.phase == Phase::kHeld) return;
  if (listed == nullptr) {
    if (unsent || !run.started_at) return send(run);
    return lose(run, node_.name + " has no trace of it");
  }
  switch (listed->state) {
    case AgentListed::State::kRunning:
      begun(run, listed->pid);
      if (run.stop_cause != Ending::kExited) stop(run.order.attempt, run.stop_cause);
      return;
    case AgentListed::State::kEnded:
      return ended(run, listed->end);
    case AgentListed::State::kGone:
      return lose(run, node_.name + " was restarted, or its processes were killed");
  }
}

}  // namespace tutti
