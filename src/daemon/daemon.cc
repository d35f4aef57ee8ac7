#include "daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "api/event_hub.h"
#include "api/server.h"
#include "base/home.h"
#include "control/controller.h"
#include "control/lease_desk.h"
#include "control/node_router.h"
#include "control/prune_desk.h"
#include "daemon/home_folders.h"
#include "daemon/home_lock.h"
#include "daemon/machine.h"
#include "daemon/machine_gpus.h"
#include "daemon/steady_clock.h"
#include "daemon/token.h"
#include "exec/keeper/enforcement.h"
#include "exec/keeper/keeper.h"
#include "exec/keeper/limits_note.h"
#include "exec/local/home_files.h"
#include "exec/local/local_executor.h"
#include "exec/local/snapshot.h"
#include "exec/ssh/ssh_executor.h"
#include "store/schema.h"
#include "store/sqlite_history.h"
#include "store/sqlite_prune_source.h"
#include "store/sqlite_store.h"
#include "telemetry/gpu_watcher.h"

namespace tutti {
namespace {

int refuse(const Error& error) {
  std::fprintf(stderr, "tutti daemon: %s\n", error.message.c_str());
  return 1;
}

// The daemon's own limit on descriptors is raised; what jobs get is the one it was started with.
std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

// Who waits for a lease keeps a connection open: as many as there are descriptors, but for those of
// the daemon itself, its files and its ways to other machines.
std::uint32_t most_connections(std::uint32_t usual) {
  constexpr rlim_t kOwn = 512;
  constexpr rlim_t kMost = 100'000;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return usual;
  const rlim_t own = std::min(limit.rlim_cur / 2, kOwn);
  return static_cast<std::uint32_t>(std::min(limit.rlim_cur - own, kMost));
}

// Signals that end the daemon are taken by one thread; those that a full disk or a vanished client
// would send are errors of the call instead.
sigset_t prepare_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&ending, number);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGHUP}) signal(number, SIG_IGN);
  return ending;
}

// Everything that makes a daemon, in the order in which it is built; taken down in reverse.
class Daemon {
 public:
  Daemon(const DaemonOptions& options, mode_t umask_of_jobs)
      : options_(options), umask_of_jobs_(umask_of_jobs), machine_(this_machine()) {
    if (options.slots > 0)
      machine_.cpus = MilliCpu(static_cast<std::int64_t>(std::llround(options.slots * 1000)));
    if (options.memory.value > 0) machine_.memory = options.memory;
  }

  // Their threads report to the controller, so that they have to end first, and before what they
  // report through.
  ~Daemon() {
    elsewhere_.reset();
    executor_.reset();
    if (gpus_) gpus_->stop();
    leases_.reset();
    gpus_.reset();
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  Result<void> start() {
    const std::uint64_t descriptors = raise_descriptor_limit();
    if (const Result<void> opened = open_store(); !opened) return opened.error();
    auto executor = LocalExecutor::create({.home = options_.home,
                                           .node_name = machine_.name,
                                           .slots = machine_.cpus,
                                           .memory = machine_.memory,
                                           .ports = options_.ports,
                                           .descriptors = descriptors,
                                           .umask = umask_of_jobs_});
    if (!executor) return executor.error();
    executor_ = std::move(*executor);
    leases_ = std::make_unique<LeaseDesk>(*executor_, clock_);
    auto found = find_machine_gpus(options_.home, options_.emulate_gpus);
    if (!found) return found.error();
    gpus_ = std::make_unique<GpuWatcher>(
        *leases_, clock_, std::move(found->gpus),
        GpuWatcher::Options{.node = LocalExecutor::kNode, .emulation = found->emulation});
    const char* const ssh_config = std::getenv("TUTTI_SSH_CONFIG");
    auto elsewhere = SshExecutor::create(
        {.home = options_.home, .config = ssh_config != nullptr ? ssh_config : ""}, clock_);
    if (!elsewhere) return elsewhere.error();
    elsewhere_ = std::move(*elsewhere);
    router_ = std::make_unique<NodeRouter>(*gpus_, *elsewhere_);
    enforcement_ = detect_enforcement();
    controller_ = std::make_unique<Controller>(*store_, *router_, clock_, events_);
    if (const Result<void> started = controller_->start(); !started) return started.error();
    prunes_ = std::make_unique<PruneDesk>(*controller_, files_, [this](GoesOn goes_on) {
      return SqlitePruneSource::open(options_.home, std::move(goes_on));
    });
    // The first round takes what the executor found, so that the API never shows less.
    controller_->step();
    return start_server();
  }

  void run(const sigset_t& ending) {
    std::thread controller([this] { controller_->run(); });
    int number = 0;
    sigwait(&ending, &number);
    leases_->part();
    prunes_->stop();
    server_->stop();
    controller_->stop();
    controller.join();
  }

 private:
  Result<void> open_store() {
    const std::string database = options_.home + "/tutti.db";
    std::error_code none;
    // Before there is a database, so that a start which fails in between does it once more.
    if (std::filesystem::file_size(database, none) == 0 || none) {
      if (const Result<void> good = check_database(database); !good) return good.error();
      const auto aside = set_former_jobs_aside(options_.home);
      if (!aside) return aside.error();
      for (const std::string& folder : *aside)
        std::fprintf(stderr, "tutti daemon: a new database; what earlier jobs left is in %s now\n",
                     folder.c_str());
    }
    auto store = SqliteStore::open(database);
    if (!store) return store.error();
    store_ = std::move(*store);
    auto history = SqliteHistory::open(database);
    if (!history) return history.error();
    history_ = std::move(*history);
    return {};
  }

  Result<void> start_server() {
    ServerOptions server{.unix_path = socket_path(options_.home)};
    server.most_connections = most_connections(server.most_connections);
    if (const Result<void> made = make_socket_folder(server.unix_path); !made) return made.error();
    if (!options_.listen.empty()) {
      const std::string path =
          options_.token_path.empty() ? token_path(options_.home) : options_.token_path;
      Result<std::string> token = read_or_make_token(path);
      if (!token) return token.error();
      server.tcp = options_.listen;
      server.token = std::move(*token);
      server.tls_certificate = options_.tls_certificate;
      server.tls_key = options_.tls_key;
    }
    const TimePoint started_at = clock_.now();
    server_ = std::make_unique<Server>(
        std::move(server), Services{.front = *controller_,
                                    .history = *history_,
                                    .events = events_,
                                    .clock = clock_,
                                    .snapshots = &snapshots_,
                                    .leases = leases_.get(),
                                    .gpus = gpus_.get(),
                                    .machines = elsewhere_.get(),
                                    .prunes = prunes_.get(),
                                    .log_folder = options_.home + "/logs",
                                    .facts = [this, started_at] { return facts(started_at); },
                                    .stop_daemon = [] { kill(getpid(), SIGTERM); }});
    const Result<void> listening = server_->start();
    if (listening && server_->tcp_port() != 0)
      std::fprintf(stderr, "tutti daemon: listens on TCP port %u\n", server_->tcp_port());
    return listening;
  }

  std::string listen() const {
    if (server_->tcp_port() == 0) return {};
    return options_.listen.substr(0, options_.listen.rfind(':') + 1) +
           std::to_string(server_->tcp_port());
  }

  StatusFacts facts(TimePoint started_at) const {
    const std::string missed = read_limits_note(options_.home);
    return {.version = TUTTI_VERSION,
            .pid = getpid(),
            .keeper_pid = executor_->keeper_pid(),
            .home = options_.home,
            .listen = listen(),
            .started_at = started_at,
            .slots = machine_.cpus,
            .enforcement_mode = enforcement_mode_name(enforcement_.mode),
            .enforces_memory = enforcement_.memory,
            .enforces_cpus = enforcement_.cpu && missed.empty(),
            .enforcement_detail =
                enforcement_.text + (missed.empty() ? "" : "; but not for " + missed)};
  }

  const DaemonOptions& options_;
  mode_t umask_of_jobs_;
  Machine machine_;
  SteadyClock clock_;
  Enforcement enforcement_;
  EventHub events_;
  SnapshotFolder snapshots_{options_.home};
  LocalHomeFiles files_{options_.home, snapshots_};
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<SqliteHistory> history_;
  std::unique_ptr<LocalExecutor> executor_;
  std::unique_ptr<LeaseDesk> leases_;
  std::unique_ptr<GpuWatcher> gpus_;
  std::unique_ptr<SshExecutor> elsewhere_;
  std::unique_ptr<NodeRouter> router_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<PruneDesk> prunes_;
  std::unique_ptr<Server> server_;
};

}  // namespace

Result<void> check_home_database(const std::string& home) {
  return check_database(home + "/tutti.db");
}

int run_daemon(const DaemonOptions& options) {
  const mode_t umask_of_jobs = umask(077);
  // A few threads and little garbage: one arena keeps an idle daemon small.
  mallopt(M_ARENA_MAX, 1);
  if (const Result<void> made = make_home(options.home); !made) return refuse(made.error());
  const Result<HomeLock> lock = HomeLock::take(options.home);
  if (!lock) return refuse(lock.error());
  const sigset_t ending = prepare_signals();
  Daemon daemon(options, umask_of_jobs);
  if (const Result<void> started = daemon.start(); !started) return refuse(started.error());
  std::fprintf(stderr, "tutti %s serves %s (pid %d)\n", TUTTI_VERSION, options.home.c_str(),
               static_cast<int>(getpid()));
  daemon.run(ending);
  return 0;
}

int run_keeper(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[0]) == "--home") return keeper_main({.home = argv[1]});
  std::fprintf(stderr, "tutti keeper: started by the daemon, not by hand\n");
  return 2;
}

}  // namespace tutti
