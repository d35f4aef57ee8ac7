#include "exec/ssh/ssh_executor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "exec/local/snapshot.h"
#include "exec/testing/eventually.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// An ssh that needs no server: the words after "--" are a host, whose home is a folder of that
// name, and a command. A host for which there is a file in down/ cannot be reached; whoever reads
// the pipe `refused` learns when that was tried.
constexpr char kFakeSsh[] = R"sh(#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2
shift 2
if [ -e "$FAKE_HOSTS/down/$host" ]; then
  cat "$FAKE_HOSTS/down/$host" >&2
  [ -p "$FAKE_HOSTS/refused" ] && echo >"$FAKE_HOSTS/refused"
  exit 255
fi
export HOME="$FAKE_HOSTS/$host"
mkdir -p "$HOME" && cd "$HOME"
echo $$ >>"$FAKE_HOSTS/pids.$host"
[ -e "$FAKE_HOSTS/noise" ] && cat "$FAKE_HOSTS/noise"
# What runs there has no end of the pipes here.
/bin/sh -c "$*" | sh -c 'echo $$ >>"$0"; exec cat' "$FAKE_HOSTS/pids.$host"
)sh";

class Reports : public ReportSink {
 public:
  void report(std::vector<Report> reports) override {
    const std::lock_guard lock(mutex_);
    for (Report& one : reports) reports_.push_back(std::move(one));
    changed_.notify_all();
  }
  // The first report of the kind for which `is` holds, removed. Waits for it.
  template <typename T>
  T await(const std::function<bool(const T&)>& is = [](const T&) { return true; }) {
    std::unique_lock lock(mutex_);
    T found{};
    const auto look = [&] {
      for (auto it = reports_.begin(); it != reports_.end(); ++it) {
        const T* one = std::get_if<T>(&*it);
        if (one == nullptr || !is(*one)) continue;
        found = *one;
        reports_.erase(it);
        return true;
      }
      return false;
    };
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), look));
    return found;
  }
  AttemptEnded end_of(AttemptId attempt) {
    return await<AttemptEnded>([&](const AttemptEnded& one) { return one.attempt == attempt; });
  }
  void await_state(Node::State state) {
    await<NodeStateChanged>([&](const NodeStateChanged& one) { return one.state == state; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Report> reports_;
};

class SystemClock : public Clock {
 public:
  TimePoint now() override {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return TimePoint(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
  }
};

class SshExecutorTest : public testing::Test {
 protected:
  SshExecutorTest() {
    std::string folder = fs::temp_directory_path() / "tutti-ssh-XXXXXX";
    folder_ = mkdtemp(folder.data());
    fs::create_directories(folder_ + "/bin");
    fs::create_directories(folder_ + "/down");
    fs::create_directories(folder_ + "/home");
    write(folder_ + "/bin/ssh", kFakeSsh);
    chmod((folder_ + "/bin/ssh").c_str(), 0755);
    signal(SIGPIPE, SIG_IGN);  // as the daemon does
    path_ = getenv("PATH");
    setenv("PATH", (folder_ + "/bin:" + path_).c_str(), 1);
    setenv("FAKE_HOSTS", folder_.c_str(), 1);
  }
  ~SshExecutorTest() override {
    executor_.reset();
    setenv("PATH", path_.c_str(), 1);
    // A host may be removing something there.
    for (int tries = 0; tries < 100 && fs::exists(folder_); ++tries) {
      std::error_code gone;
      fs::remove_all(folder_, gone);
    }
  }

  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  Node node(const std::string& name = "box") {
    Node made;
    made.id = NodeId(2);
    made.name = name;
    made.remote.address = name;
    made.state = Node::State::kDown;
    return made;
  }
  void connect(const Known& known) {
    auto made = SshExecutor::create({.home = folder_ + "/home", .config = ""}, clock_);
    ASSERT_TRUE(made) << made.error().message;
    executor_ = std::move(*made);
    ASSERT_TRUE(executor_->attach(known, reports_));
  }
  void connect() {
    connect({.attempts = {}, .nodes = {node()}});
    reports_.await_state(Node::State::kUp);
  }
  StartAttempt order(std::uint32_t index, const std::string& text) {
    StartAttempt order;
    order.attempt = {{JobId(7), index}, 1};
    order.allocation = {NodeId(2), MilliCpu(1000), MiB(), {}};
    LaunchContext context;
    context.job = JobId(7);
    context.workdir = "/";
    context.grace = seconds(1);
    context.snapshot = snapshot_;
    order.context = std::make_shared<LaunchContext>(context);
    order.launch.argv = {"/bin/sh", "-c", text};
    order.launch.stdout_path = std::to_string(index) + ".out";
    order.launch.stderr_path = std::to_string(index) + ".err";
    return order;
  }
  AttemptEnded run(std::uint32_t index, const std::string& text) {
    const StartAttempt wanted = order(index, text);
    executor_->order({wanted});
    return reports_.end_of(wanted.attempt);
  }
  void cut(const std::string& host) {
    std::ifstream pids(folder_ + "/pids." + host);
    for (pid_t pid = 0; pids >> pid;) kill(pid, SIGKILL);
    fs::remove(folder_ + "/pids." + host);
  }
  std::string out(std::uint32_t index) {
    return text_of(folder_ + "/home/logs/" + std::to_string(index) + ".out");
  }

  std::string folder_;
  std::string path_;
  std::string snapshot_;
  SystemClock clock_;
  Reports reports_;
  std::unique_ptr<SshExecutor> executor_;
};

TEST_F(SshExecutorTest, a_host_is_measured_and_then_up) {
  connect({.attempts = {}, .nodes = {node()}});
  const auto changed = reports_.await<NodeChanged>();
  EXPECT_EQ(changed.node.name, "box");
  EXPECT_GE(changed.node.cpus.value, 1000);
  EXPECT_GT(changed.node.memory.value, 0);
  reports_.await_state(Node::State::kUp);
  EXPECT_TRUE(executor_->latest(NodeId(2)).has_value());
  EXPECT_FALSE(executor_->latest(NodeId(3)).has_value());
}

TEST_F(SshExecutorTest, gpus_are_known_to_every_measurement) {
  write(folder_ + "/bin/nvidia-smi",
        "#!/bin/sh\ncase $1 in *query-gpu*)\n"
        "echo '0, GPU-a, NVIDIA RTX, 00000000:07:00.0, 6000, 69, 0, 0, 40' ;; esac\n");
  chmod((folder_ + "/bin/nvidia-smi").c_str(), 0755);
  connect({.attempts = {}, .nodes = {node()}});
  EXPECT_EQ(reports_.await<NodeChanged>().node.devices.size(), 1u);
  reports_.await_state(Node::State::kUp);
  // Sooner than nvidia-smi is asked again.
  const TimePoint first = executor_->latest(NodeId(2))->at;
  executor_->measure_now(NodeId(2));
  for (int i = 0; i < 3 && executor_->latest(NodeId(2))->at == first; ++i)
    reports_.await<NodeChanged>();
  EXPECT_NE(executor_->latest(NodeId(2))->at, first);
  EXPECT_EQ(executor_->latest(NodeId(2))->gpus.size(), 1u);
}

TEST_F(SshExecutorTest, an_attempt_starts_and_ends_and_its_output_is_here) {
  connect();
  const AttemptEnded ended = run(0, "echo hello; echo 'a b' >&2; exit 3");
  EXPECT_EQ(ended.outcome.ending, Ending::kExited);
  EXPECT_EQ(ended.outcome.exit_code, 3);
  EXPECT_TRUE(ended.started_at);
  EXPECT_EQ(out(0), "hello\n");
  EXPECT_EQ(text_of(folder_ + "/home/logs/0.err"), "a b\n");
}

TEST_F(SshExecutorTest, an_attempt_without_output_has_empty_files) {
  connect();
  EXPECT_TRUE(run(0, "true").outcome.succeeded());
  EXPECT_TRUE(fs::exists(folder_ + "/home/logs/0.out"));
  EXPECT_EQ(out(0), "");
}

TEST_F(SshExecutorTest, output_comes_while_it_runs) {
  connect();
  const StartAttempt wanted =
      order(0, "echo first; until [ -e '" + folder_ + "/go' ]; do sleep 0.05; done");
  executor_->order({wanted});
  reports_.await<AttemptStarted>();
  EXPECT_TRUE(eventually([&] { return out(0) == "first\n"; })) << out(0);
  write(folder_ + "/go", "");
  EXPECT_TRUE(reports_.end_of(wanted.attempt).outcome.succeeded());
}

TEST_F(SshExecutorTest, what_was_forgotten_leaves_nothing_on_the_host) {
  connect();
  const AttemptEnded ended = run(0, "echo x");
  executor_->journalled(std::vector<AttemptId>{ended.attempt});
  const auto left = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(folder_ + "/box/.cache"))
      if (entry.path().filename() == "7.0.1") return true;
    return false;
  };
  EXPECT_TRUE(eventually([&] { return !left(); }));
}

TEST_F(SshExecutorTest, a_stop_ends_it_as_cancelled) {
  connect();
  const StartAttempt wanted = order(0, "sleep 1000 & wait");
  executor_->order({wanted});
  reports_.await<AttemptStarted>();
  executor_->order({StopAttempt{wanted.attempt, NodeId(2), Ending::kCancelled}});
  EXPECT_EQ(reports_.end_of(wanted.attempt).outcome.ending, Ending::kCancelled);
}

TEST_F(SshExecutorTest, a_host_that_cannot_be_reached_is_down_with_the_reason) {
  write(folder_ + "/down/box", "root@box: Permission denied (publickey).\n");
  connect({.attempts = {}, .nodes = {node()}});
  const auto state = reports_.await<NodeStateChanged>();
  EXPECT_EQ(state.state, Node::State::kDown);
  EXPECT_THAT(state.reason, HasSubstr("refused every key"));
}

TEST_F(SshExecutorTest, a_noisy_login_does_not_matter) {
  write(folder_ + "/noise", "Welcome to box!\nE 1.0.1 0 0 0 -\nno line end");
  connect();
  EXPECT_EQ(run(0, "echo fine").outcome.exit_code, 0);
  EXPECT_EQ(out(0), "fine\n");
}

TEST_F(SshExecutorTest, an_attempt_goes_on_while_the_connection_is_cut_and_is_collected_later) {
  connect();
  const StartAttempt wanted =
      order(0, "echo one; until [ -e '" + folder_ + "/go' ]; do sleep 0.05; done; echo two");
  executor_->order({wanted});
  reports_.await<AttemptStarted>();
  write(folder_ + "/down/box", "Connection refused\n");
  cut("box");
  reports_.await_state(Node::State::kDown);
  write(folder_ + "/go", "");
  fs::remove(folder_ + "/down/box");
  const AttemptEnded ended = reports_.end_of(wanted.attempt);
  EXPECT_TRUE(ended.outcome.succeeded()) << ended.outcome.message;
  EXPECT_EQ(out(0), "one\ntwo\n");
}

TEST_F(SshExecutorTest, an_order_that_was_cut_off_takes_effect_once) {
  connect();
  write(folder_ + "/down/box", "Connection refused\n");
  cut("box");
  reports_.await_state(Node::State::kDown);
  const StartAttempt wanted = order(0, "echo x >>'" + folder_ + "/count'");
  executor_->order({wanted});
  fs::remove(folder_ + "/down/box");
  EXPECT_TRUE(reports_.end_of(wanted.attempt).outcome.succeeded());
  EXPECT_EQ(text_of(folder_ + "/count"), "x\n");
}

TEST_F(SshExecutorTest, after_its_patience_an_attempt_is_lost_and_what_still_runs_is_stopped) {
  Node impatient = node();
  impatient.remote.patience = milliseconds(200);
  connect({.attempts = {}, .nodes = {impatient}});
  reports_.await_state(Node::State::kUp);
  const StartAttempt wanted = order(
      0, "trap 'echo t >\"" + folder_ + "/stopped\"; exit' TERM; while :; do sleep 0.05; done");
  executor_->order({wanted});
  reports_.await<AttemptStarted>();
  write(folder_ + "/down/box", "Connection refused\n");
  cut("box");
  const AttemptEnded lost = reports_.end_of(wanted.attempt);
  EXPECT_EQ(lost.outcome.ending, Ending::kPreempted);
  EXPECT_THAT(lost.outcome.message, HasSubstr("cut off"));
  executor_->journalled(std::vector<AttemptId>{wanted.attempt});
  fs::remove(folder_ + "/down/box");
  EXPECT_TRUE(eventually([&] { return fs::exists(folder_ + "/stopped"); }));
}

TEST_F(SshExecutorTest, a_later_daemon_collects_what_ended_meanwhile) {
  connect();
  const StartAttempt wanted =
      order(0, "echo one; until [ -e '" + folder_ + "/go' ]; do sleep 0.05; done; echo two");
  executor_->order({wanted});
  const auto started = reports_.await<AttemptStarted>();
  executor_.reset();
  write(folder_ + "/go", "");
  KnownAttempt known{.id = wanted.attempt, .allocation = wanted.allocation};
  known.started_at = started.started_at;
  known.order = wanted;
  connect({.attempts = {known}, .nodes = {node()}});
  EXPECT_TRUE(reports_.end_of(wanted.attempt).outcome.succeeded());
  EXPECT_EQ(out(0), "one\ntwo\n");
}

TEST_F(SshExecutorTest, files_go_there_once_and_results_come_back_whole) {
  SnapshotFolder snapshots(folder_ + "/home");
  const std::string text = "content\n";
  ASSERT_TRUE(snapshots.put_blob(sha256_hex(text), text));
  const auto digest = snapshots.save({{"a b/data.txt", 0644, sha256_hex(text), ""}});
  ASSERT_TRUE(digest);
  snapshot_ = *digest;
  connect();
  for (std::uint32_t i = 0; i < 2; ++i) {
    StartAttempt wanted = order(i, "cat 'a b/data.txt'; echo made >'new file'");
    wanted.launch.result_folder = folder_ + "/results/" + std::to_string(i);
    wanted.launch.result_paths = {"."};
    executor_->order({wanted});
    const AttemptEnded ended = reports_.end_of(wanted.attempt);
    EXPECT_TRUE(ended.outcome.succeeded()) << ended.outcome.message;
    EXPECT_EQ(out(i), text);
    EXPECT_EQ(text_of(wanted.launch.result_folder + "/new file"), "made\n");
    EXPECT_EQ(text_of(wanted.launch.result_folder + "/a b/data.txt"), text);
  }
}

TEST_F(SshExecutorTest, a_connection_that_breaks_while_files_are_copied_is_nobodys_failure) {
  SnapshotFolder snapshots(folder_ + "/home");
  ASSERT_TRUE(snapshots.put_blob(sha256_hex("content"), "content"));
  snapshot_ = snapshots.save({{"data", 0644, sha256_hex("content"), ""}}).value();
  connect();
  ASSERT_EQ(mkfifo((folder_ + "/refused").c_str(), 0600), 0);
  const UniqueFd refused(open((folder_ + "/refused").c_str(), O_RDWR | O_CLOEXEC));
  // Copies fail at once, and that the link is broken is seen only later.
  write(folder_ + "/down/box", "connection refused");
  const StartAttempt wanted = order(0, "cat data");
  executor_->order({wanted});
  char end_of_line = 0;
  for (int tries = 0; tries < 4; ++tries) ASSERT_EQ(read(refused.get(), &end_of_line, 1), 1);
  cut("box");
  reports_.await_state(Node::State::kDown);
  fs::remove(folder_ + "/down/box");
  const AttemptEnded ended = reports_.end_of(wanted.attempt);
  EXPECT_TRUE(ended.outcome.succeeded()) << ended.outcome.message;
  EXPECT_EQ(out(0), "content");
}

TEST_F(SshExecutorTest, hosts_that_want_the_same_files_at_once_all_get_all_of_them) {
  constexpr std::uint32_t kHosts = 4;
  SnapshotFolder snapshots(folder_ + "/home");
  SnapshotManifest manifest;
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_TRUE(snapshots.put_blob(sha256_hex(text), text));
    manifest.push_back({"folder" + text + "/file", 0644, sha256_hex(text), ""});
  }
  snapshot_ = snapshots.save(manifest).value();
  std::vector<Node> nodes;
  std::vector<Effect> orders;
  for (std::uint32_t i = 0; i < kHosts; ++i) {
    nodes.push_back(node("box" + std::to_string(i)));
    nodes.back().id = NodeId(2 + i);
    orders.emplace_back(order(i, "find . -type f | wc -l"));
    std::get<StartAttempt>(orders.back()).allocation.node = NodeId(2 + i);
  }
  connect({.attempts = {}, .nodes = nodes});
  for (std::uint32_t i = 0; i < kHosts; ++i) reports_.await_state(Node::State::kUp);
  executor_->order(std::move(orders));
  for (std::uint32_t i = 0; i < kHosts; ++i) {
    EXPECT_TRUE(reports_.end_of({{JobId(7), i}, 1}).outcome.succeeded());
    EXPECT_EQ(out(i), "100\n") << i;
  }
}

TEST_F(SshExecutorTest, damaged_files_do_not_go_there) {
  SnapshotFolder snapshots(folder_ + "/home");
  const std::string good = sha256_hex("good");
  ASSERT_TRUE(snapshots.put_blob(good, "good"));
  snapshot_ = snapshots.save({{"data", 0644, good, ""}}).value();
  write(folder_ + "/home/blobs/" + good.substr(0, 2) + "/" + good.substr(2), "baad");
  connect();
  const StartAttempt wanted = order(0, "cat data");
  executor_->order({wanted});
  const AttemptEnded ended = reports_.end_of(wanted.attempt);
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
  EXPECT_THAT(ended.outcome.message, HasSubstr("damaged; submit the job once more"));
  int folders = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.path().filename() != "files") continue;
    ++folders;
    EXPECT_TRUE(fs::is_empty(entry.path()));
  }
  EXPECT_EQ(folders, 1);
}

}  // namespace
}  // namespace tutti
