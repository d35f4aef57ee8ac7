#include "exec/keeper/keeper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "exec/keeper/link.h"
#include "exec/keeper/messages.h"
#include "exec/local/keeper_process.h"
#include "exec/testing/eventually.h"

// A keeper as a child of the test, spoken to in its own protocol.

namespace tutti {
namespace {

constexpr int kPatienceMs = 30000;

// One connection to a keeper.
class Controller {
 public:
  explicit Controller(const std::string& home) {
    EXPECT_TRUE(eventually([&] {
      if (Result<UniqueFd> fd = connect_to_keeper(home)) fd_ = std::move(*fd);
      return static_cast<bool>(fd_);
    }));
  }
  template <typename Message>
  Controller& send(const Message& message) {
    std::string frames;
    append_frame(frames, message);
    EXPECT_TRUE(send_frames(fd_.get(), frames, kPatienceMs));
    return *this;
  }
  void send_bytes(const std::string& bytes) { EXPECT_TRUE(send_frames(fd_.get(), bytes, 1000)); }
  // The next message of that kind; false: the keeper has closed the connection.
  template <typename Message>
  bool await(Message& message) {
    for (;;) {
      Result<FromKeeper> got = read_message(fd_.get(), in_, kPatienceMs);
      if (!got) return false;
      if (auto* wanted = std::get_if<Message>(&*got)) {
        message = std::move(*wanted);
        return true;
      }
    }
  }
  bool is_closed() {
    Listing ignored;
    return !await(ignored);
  }

 private:
  UniqueFd fd_;
  FrameBuffer in_;
};

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/tutti-keeper.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    home_ = folder;
  }
  void TearDown() override {
    if (keeper_ > 0) {
      kill(keeper_, SIGKILL);
      waitpid(keeper_, nullptr, 0);
    }
    std::filesystem::remove_all(home_);
  }

  void start(rlim_t descriptors = 0) {
    keeper_ = fork();
    if (keeper_ != 0) return;
    if (descriptors > 0) {
      const rlimit limit{descriptors, descriptors};
      setrlimit(RLIMIT_NOFILE, &limit);
    }
    execl("/proc/self/exe", "unit_exec", "keeper", "--home", home_.c_str(), nullptr);
    _exit(127);
  }

  int await_exit() {
    int status = -1;
    waitpid(keeper_, &status, 0);
    keeper_ = -1;
    return status;
  }

  static AttemptId attempt(std::uint32_t index) { return {{JobId(1), index}, 1}; }

  static ContextOrder context() {
    ContextOrder order;
    order.job = JobId(1);
    order.workdir = "/";
    order.env = {"PATH=/usr/bin:/bin"};
    order.grace = milliseconds(100);
    return order;
  }

  static StartOrder command(std::uint32_t index, std::vector<std::string> argv) {
    StartOrder order;
    order.attempt = attempt(index);
    order.lane = LaneId(index + 1);
    order.launch.argv = std::move(argv);
    order.launch.stdout_path = order.launch.stderr_path = std::to_string(index) + ".out";
    return order;
  }

  std::string home_;
  pid_t keeper_ = -1;
};

TEST_F(KeeperTest, the_socket_and_folders_are_private) {
  start();
  Welcome welcome;
  Controller controller(home_);
  ASSERT_TRUE(controller.send(Hello{}).await(welcome));
  EXPECT_EQ(welcome.incarnation.size(), 32u);
  EXPECT_EQ(welcome.pid, keeper_);
  struct stat st {};
  ASSERT_EQ(stat((home_ + "/run/keeper.sock").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  for (const char* folder : {"/run", "/logs", "/scripts"}) {
    ASSERT_EQ(stat((home_ + folder).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0700u) << folder;
  }
}

TEST_F(KeeperTest, it_answers_a_newer_daemon_with_the_version_that_it_speaks_itself) {
  start();
  Controller controller(home_);
  Welcome welcome;
  ASSERT_TRUE(controller.send(Hello{kKeeperVersion + 5}).await(welcome));
  EXPECT_EQ(welcome.version, kKeeperVersion);
}

TEST_F(KeeperTest, a_newer_connection_takes_the_place_of_the_older) {
  start();
  Controller first(home_);
  Welcome welcome;
  ASSERT_TRUE(first.send(Hello{}).await(welcome));
  Controller second(home_);
  ASSERT_TRUE(second.send(Hello{}).await(welcome));
  EXPECT_TRUE(first.is_closed());
}

TEST_F(KeeperTest, orders_of_a_controller_that_went_away_are_still_carried_out) {
  start();
  {
    Controller first(home_);
    first.send(Hello{}).send(context());
    for (std::uint32_t i = 0; i < 200; ++i) first.send(command(i, {"true"}));
  }
  Controller second(home_);
  Listing listing;
  ASSERT_TRUE(second.send(Hello{}).send(ListOrder{}).await(listing));
  EXPECT_EQ(listing.staged.size() + listing.running.size() + listing.ended.size(), 200u);
}

TEST_F(KeeperTest, who_does_not_speak_the_protocol_is_cut_off_and_does_no_harm) {
  start();
  Controller stranger(home_);
  stranger.send_bytes("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(stranger.is_closed());
  Controller rude(home_);
  EXPECT_TRUE(rude.send(ListOrder{}).is_closed());
  Controller controller(home_);
  AttemptEnded ended;
  controller.send(Hello{}).send(context()).send(command(0, {"true"}));
  ASSERT_TRUE(controller.await(ended));
  EXPECT_TRUE(ended.outcome.succeeded());
}

TEST_F(KeeperTest, quit_is_refused_while_something_is_kept) {
  start();
  Controller controller(home_);
  AttemptEnded ended;
  controller.send(Hello{}).send(context()).send(command(0, {"true"}));
  ASSERT_TRUE(controller.await(ended));
  QuitRefused refused;
  EXPECT_TRUE(controller.send(Quit{}).await(refused));
  controller.send(Ack{{attempt(0)}}).send(Quit{});
  EXPECT_EQ(await_exit(), 0);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/run/keeper.sock"));
}

TEST_F(KeeperTest, a_forced_quit_ends_what_runs) {
  start();
  Controller controller(home_);
  AttemptStarted started;
  controller.send(Hello{}).send(context()).send(command(0, {"sleep", "1000"}));
  ASSERT_TRUE(controller.await(started));
  controller.send(Quit{true});
  EXPECT_EQ(await_exit(), 0);
  EXPECT_NE(kill(static_cast<pid_t>(started.pid), 0), 0);
}

TEST_F(KeeperTest, a_second_keeper_on_the_same_home_leaves_at_once) {
  start();
  Controller controller(home_);
  Welcome welcome;
  ASSERT_TRUE(controller.send(Hello{}).await(welcome));
  const pid_t first = keeper_;
  start();
  EXPECT_EQ(await_exit(), 0);
  keeper_ = first;
  Listing listing;
  EXPECT_TRUE(controller.send(ListOrder{}).await(listing));
}

TEST_F(KeeperTest, it_stays_while_results_are_not_acknowledged) {
  start();
  Controller(home_).send(Hello{}).send(context()).send(command(0, {"true"}));
  Controller second(home_);
  Listing listing;
  ASSERT_TRUE(second.send(Hello{}).send(ListOrder{}).await(listing));
  ASSERT_EQ(listing.staged.size() + listing.running.size() + listing.ended.size(), 1u);
  AttemptEnded ended;
  if (listing.ended.empty()) {
    ASSERT_TRUE(second.await(ended));
  }
  second.send(Ack{{attempt(0)}});
  Listing empty;
  ASSERT_TRUE(second.send(ListOrder{}).await(empty));
  EXPECT_TRUE(empty.ended.empty());
}

TEST_F(KeeperTest, three_hundred_attempts_run_at_once_with_256_descriptors) {
  start(256);
  Controller controller(home_);
  controller.send(Hello{}).send(context());
  for (std::uint32_t i = 0; i < 300; ++i) controller.send(command(i, {"sleep", "1000"}));
  AttemptStarted started;
  for (std::uint32_t i = 0; i < 300; ++i) ASSERT_TRUE(controller.await(started)) << i;
  for (std::uint32_t i = 0; i < 300; ++i) controller.send(StopOrder{attempt(i)});
  AttemptEnded ended;
  for (std::uint32_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(controller.await(ended)) << i;
    EXPECT_EQ(ended.outcome.ending, Ending::kCancelled) << ended.outcome.message;
  }
}

TEST_F(KeeperTest, what_reads_from_a_pipe_may_read_the_rest_when_the_main_process_has_ended) {
  start();
  Controller controller(home_);
  const std::string log = home_ + "/log";
  StartOrder order = command(0, {"bash", "-c", "echo tail > >(sleep 0.1; cat >'" + log + "')"});
  AttemptEnded ended;
  ASSERT_TRUE(controller.send(Hello{}).send(context()).send(order).await(ended));
  std::string word;
  std::ifstream(log) >> word;
  EXPECT_EQ(word, "tail");
}

TEST_F(KeeperTest, what_never_ends_reading_from_a_pipe_does_not_survive) {
  start();
  Controller controller(home_);
  const std::string note = home_ + "/note";
  const std::string line = "sleep 1000 | sleep 1000 & echo $! > '" + note + "'; exit 3";
  AttemptEnded ended;
  controller.send(Hello{}).send(context()).send(command(0, {"bash", "-c", line}));
  ASSERT_TRUE(controller.await(ended));
  EXPECT_EQ(ended.outcome.exit_code, 3);
  pid_t reader = 0;
  std::ifstream(note) >> reader;
  ASSERT_GT(reader, 0);
  EXPECT_NE(kill(reader, 0), 0);
}

TEST_F(KeeperTest, without_a_context_an_attempt_is_not_started) {
  start();
  Controller controller(home_);
  AttemptEnded ended;
  ASSERT_TRUE(controller.send(Hello{}).send(command(0, {"true"})).await(ended));
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
}

TEST_F(KeeperTest, a_home_that_cannot_be_written_is_an_error) {
  home_ += "/missing/folder";
  start();
  EXPECT_NE(await_exit(), 0);
  home_.resize(home_.size() - std::string("/missing/folder").size());
}

TEST_F(KeeperTest, a_cleanup_runs_when_all_processes_are_gone_and_before_the_end_is_told) {
  start();
  Controller controller(home_);
  controller.send(Hello{}).send(context());
  const std::string note = home_ + "/note";
  StartOrder order = command(0, {"sh", "-c", "sleep 600 & echo $! > '" + note + "'; exit 3"});
  controller.send(CleanupOrder{
      attempt(0), {"/bin/sh", "-c", "kill -0 $(cat \"$1\") || echo gone >> \"$1\"", "x", note}});
  AttemptEnded ended;
  ASSERT_TRUE(controller.send(order).await(ended));
  EXPECT_EQ(ended.outcome.exit_code, 3);
  std::ifstream file(note);
  std::string pid;
  std::string word;
  file >> pid >> word;
  EXPECT_EQ(word, "gone");
  EXPECT_TRUE(std::filesystem::is_empty(home_ + "/scripts"));
}

TEST_F(KeeperTest, a_cleanup_of_one_attempt_is_no_process_of_another) {
  start();
  Controller controller(home_);
  controller.send(Hello{}).send(context());
  const std::string go = home_ + "/go";
  controller.send(CleanupOrder{
      attempt(0), {"/bin/sh", "-c", "until test -e \"$1\"; do sleep 0.01; done", "x", go}});
  AttemptEnded ended;
  controller.send(command(0, {"true"})).send(command(1, {"true"}));
  ASSERT_TRUE(controller.await(ended));
  EXPECT_EQ(ended.attempt, attempt(1));
  std::ofstream(go) << "";
  ASSERT_TRUE(controller.await(ended));
  EXPECT_EQ(ended.attempt, attempt(0));
  EXPECT_TRUE(ended.outcome.message.empty());
}

}  // namespace
}  // namespace tutti
