#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/executor.h"
#include "control/node_monitor.h"
#include "exec/ssh/agent_link.h"
#include "exec/ssh/output_shell.h"
#include "exec/ssh/run.h"
#include "exec/ssh/transfer.h"
#include "telemetry/gpu_source.h"

namespace tutti {

// Where a host's things are on this machine, and what it may use.
struct HostPlace {
  std::string home;    // of the daemon
  std::string root;    // of the agent, relative to the user's cache there
  std::string socket;  // how sockets for further sessions begin
  std::string config;  // of ssh; empty: the user's own
};

// One machine elsewhere: its connection, what runs there, and what is to be fetched. Owned by its
// executor and used on that one's thread only; what is to be reported is collected here.
class Host {
 public:
  // Runs something on the executor's thread, from any other, unless the host is gone by then.
  using Post = std::function<void(std::function<void(Host&)>)>;

  Host(Node node, HostPlace place, Transfers& transfers, Post post);

  // ---- orders
  void start(StartAttempt order);
  void adopt(const KnownAttempt& known);
  void release(AttemptId attempt);
  void stop(AttemptId attempt, Ending cause);
  void forget(AttemptId attempt);
  // Tells again what was told and may have been lost, and its state.
  void tell_again();
  void tell_state();
  void use_key(const std::string& key);
  // One that is cut off is tried again, and tells how that went.
  void try_now();
  void measure();

  // ---- the loop
  static constexpr std::size_t kPolled = 6;
  void add_to(std::vector<pollfd>& polled) const;
  void serve(const pollfd* polled, TimePoint now);
  // Does what is due and says when something will be.
  TimePoint tick(TimePoint now);

  std::vector<Report> take_reports() { return std::exchange(reports_, {}); }
  const std::optional<NodeMeasurement>& measured() const { return measured_; }
  const Node& node() const { return node_; }

 private:
  using Phase = Run::Phase;
  using Runs = std::map<AttemptId, Run>;

  // ---- host.cc: the connection
  void open();
  void cut_off();
  void give_up();
  void take(const AgentHello& hello);
  void take(const AgentUnusable& unusable);
  void take(const AgentListed& listed);
  void take(const AgentListEnd& end);
  void settle(Run& run, const AgentListed* listed);

  // ---- host_runs.cc: attempts
  void take(const AgentReady& ready);
  void take(const AgentBegun& begun);
  void take(const AgentEnded& ended);
  void take(const AgentRefused& refused);
  Run& take_in(StartAttempt order);
  void send(Run& run);
  void ask(Run& run);
  void refuse(Run& run, std::string why);
  void stage(const std::string& digest, JobId job);
  void staged(const std::string& digest, const Result<void>& made);
  void note_staged(const std::string& digest);
  void begun(Run& run, std::int64_t pid);
  void ended(Run& run, const AgentEnd& end);
  void lose(Run& run, const std::string& why);
  void go_on(Run& run);
  void look_for_output(Run& run, RunOutput& output);
  void take_output(AttemptId attempt, bool errors, std::string_view bytes);
  void try_again(TimePoint& due);
  void collect(Run& run);
  void collected(AttemptId attempt, const Result<void>& copied);
  void tell_end(Run& run);
  void tell_starts(TimePoint& due);
  void forget_now();
  Outcome outcome_of(const Run& run) const;
  Run* find(AttemptId attempt);
  bool connected() const { return link_.state() == AgentLink::State::kReady && listed_; }
  std::string folder_of(const Run& run) const;

  // ---- host_probe.cc: measuring
  void take(const AgentLoad& load);
  void take(const AgentGpuLine& line);
  void take(const AgentProbeEnd& end);
  void update_node();
  bool read_devices(std::vector<Device>& devices, std::vector<MeasuredGpu>& gpus);
  Result<std::vector<GpuReading>> gpu_readings() const;
  std::vector<MiB> note_use(const std::vector<GpuReading>& readings);
  Run* run_of(std::int64_t pid);
  Duration probe_pause() const;

  Node node_;
  const HostPlace place_;
  Transfers& transfers_;
  const Post post_;
  AgentLink link_;
  OutputShell output_;
  TimePoint now_;

  Runs runs_;
  std::vector<Report> reports_;
  std::map<AttemptId, AgentListed> list_;  // while it is being told
  bool listed_ = false;                    // this connection has told all there is
  bool up_ = false;                        // so it was reported
  std::string root_;                       // of the agent, absolute
  bool has_rsync_ = false;
  bool knows_holes_ = false;
  std::set<std::string> staging_;       // digests that are on their way
  std::deque<std::string> staged_;      // digests that are there, the last one used first
  std::vector<std::string> forgotten_;  // attempts whose folders are to be removed

  TimePoint open_at_;     // when to try next
  Duration pause_;        // between tries
  TimePoint down_since_;  // when it was last seen
  TimePoint answer_by_;   // when it is given up unless something is heard; zero: it was
  TimePoint probe_at_;
  TimePoint smi_at_;  // when to ask for GPUs next
  AgentLoad load_;
  std::string gpu_text_;
  std::string card_text_;
  std::string process_text_;
  std::map<std::int64_t, std::int64_t> sessions_;  // of processes on GPUs, by pid
  bool asked_gpus_ = false;
  std::optional<NodeMeasurement> measured_;
};

}  // namespace tutti
