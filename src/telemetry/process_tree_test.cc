#include "telemetry/process_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "core/spec/text.h"

namespace tutti {
namespace {

using testing::StartsWith;

// A process that lives until the test ends it. Its work may start others, which end with it.
class Child {
 public:
  // `work` runs in the child and returns a pid that the test may ask for.
  explicit Child(const std::function<pid_t()>& work = [] { return getpid(); }) {
    int told[2] = {-1, -1};
    if (pipe2(told, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const pid_t result = work();
      if (write(told[1], &result, sizeof result) != sizeof result) _exit(1);
      while (true) pause();
    }
    close(told[1]);
    if (read(told[0], &told_, sizeof told_) != sizeof told_) told_ = -1;
    close(told[0]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  pid_t told() const { return told_; }
  std::uint64_t ticks() const { return process_stat(pid_)->start_ticks; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  pid_t told_ = 0;
};

pid_t sleeper(bool dies_with_parent) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    if (dies_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before the call.
    if (dies_with_parent && getppid() != parent) _exit(0);
    while (true) pause();
  }
  return pid;
}

TEST(ProcessTree, descendants_belong_to_their_root) {
  const Child child([] { return sleeper(true); });
  ProcessTree tree;
  tree.set_roots({{5, child.pid(), child.ticks(), {}}});
  EXPECT_EQ(tree.owner(child.pid()), 5U);
  EXPECT_EQ(tree.owner(child.told()), 5U);
  EXPECT_EQ(tree.owner(getpid()), std::nullopt);
}

TEST(ProcessTree, the_nearest_root_counts) {
  const Child child([] { return sleeper(true); });
  ProcessTree tree;
  tree.set_roots({{1, getpid(), 0, {}}, {2, child.pid(), 0, {}}});
  EXPECT_EQ(tree.owner(child.told()), 2U);
  EXPECT_EQ(tree.owner(getpid()), 1U);
}

TEST(ProcessTree, another_process_with_the_roots_number_is_not_the_root) {
  const Child child;
  ProcessTree tree;
  tree.set_roots({{5, child.pid(), child.ticks() + 1, {}}});
  EXPECT_EQ(tree.owner(child.pid()), std::nullopt);
}

TEST(ProcessTree, an_orphan_belongs_to_the_root_that_led_its_session) {
  Child child([] {
    setsid();
    return sleeper(false);
  });
  const pid_t orphan = child.told();
  const ProcessRoot root{5, child.pid(), child.ticks(), {}};
  child.end();
  ProcessTree tree;
  tree.set_roots({root});
  EXPECT_EQ(tree.owner(orphan), 5U);
  kill(orphan, SIGKILL);
}

TEST(ProcessTree, sharing_the_session_of_a_root_that_does_not_lead_it_means_nothing) {
  const Child root;
  const Child other;
  ProcessTree tree;
  tree.set_roots({{5, root.pid(), root.ticks(), {}}});
  EXPECT_EQ(tree.owner(other.pid()), std::nullopt);
}

TEST(ProcessTree, a_process_that_left_everything_is_known_by_its_environment) {
  const Child stray([] {
    setsid();
    const pid_t pid = vfork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char* const argv[] = {"sleep", "1000", nullptr};
      const char* const envp[] = {"A=1", "TUTTI_ATTEMPT=2", "TUTTI_JOB_ID=12", nullptr};
      execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(envp));
      _exit(1);
    }
    return pid;
  });
  // Where vfork() is only fork(), as under a sanitizer, the program may not be there yet.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!has_variables(process_environment(stray.told()), {"TUTTI_ATTEMPT=2"}) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  ProcessTree tree;
  tree.set_roots({{4, 999999998, 1, {"TUTTI_JOB_ID=12", "TUTTI_ATTEMPT=1"}},
                  {5, 999999999, 1, {"TUTTI_JOB_ID=12", "TUTTI_ATTEMPT=2"}}});
  EXPECT_EQ(tree.owner(stray.told()), 5U);
  EXPECT_EQ(tree.owner(stray.pid()), std::nullopt);
}

TEST(ProcessTree, new_roots_change_old_answers) {
  const Child child;
  ProcessTree tree;
  EXPECT_EQ(tree.owner(child.pid()), std::nullopt);
  tree.set_roots({{5, child.pid(), child.ticks(), {}}});
  EXPECT_EQ(tree.owner(child.pid()), 5U);
  tree.set_roots({});
  EXPECT_EQ(tree.owner(child.pid()), std::nullopt);
}

TEST(ProcessTree, the_dead_are_forgotten) {
  std::int64_t now = 100000000;
  Child child;
  ProcessTree tree([&] { return now; });
  tree.set_roots({{5, child.pid(), child.ticks(), {}}});
  const pid_t pid = child.pid();
  EXPECT_EQ(tree.owner(pid), 5U);
  child.end();
  now += 1000000;
  EXPECT_EQ(tree.owner(pid), std::nullopt);
  EXPECT_EQ(tree.remembered(), 0U);
}

TEST(ProcessTree, those_nobody_asks_for_are_forgotten) {
  std::int64_t now = 100000000;
  const Child child;
  ProcessTree tree([&] { return now; });
  tree.owner(child.pid());
  now += 10000000;
  tree.owner(getpid());
  EXPECT_EQ(tree.remembered(), 1U);
}

TEST(ProcessTree, a_foreign_process_has_a_user_and_a_command) {
  const Child child;
  ProcessTree tree;
  const ProcessDescription& described = tree.describe(child.pid());
  const passwd* user = getpwuid(geteuid());
  EXPECT_EQ(described.user, user != nullptr ? user->pw_name : std::to_string(geteuid()));
  const std::string program = program_invocation_name;
  EXPECT_THAT(described.command, StartsWith(program.substr(0, 60)));
  EXPECT_EQ(tree.describe(999999999).user, "");
}

TEST(ProcessStat, a_name_may_hold_anything) {
  const auto stat =
      parse_process_stat("12 (a) R 9 (b) S 7 12 11 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 12345 1 2 3\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->session, 11);
  EXPECT_EQ(stat->start_ticks, 12345U);
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("12 (a) S 7"));
  EXPECT_FALSE(parse_process_stat("12 (a) S x 12 11 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 1 1"));
}

TEST(ProcessStat, commands_are_shown_in_one_short_printable_line) {
  EXPECT_EQ(shown_command(std::string_view("python\0x.py\0--a\nb\0", 19)), "python x.py --a b");
  EXPECT_EQ(shown_command("a\xff\x1b[31m"), "a? [31m");
  std::string long_one;
  for (int i = 0; i < 200; ++i) long_one += "\xc3\xa4";
  const std::string cut = shown_command(long_one);
  EXPECT_LE(cut.size(), 120U);
  EXPECT_TRUE(cut.ends_with("..."));
  EXPECT_FALSE(first_invalid_utf8(cut));
}

TEST(ProcessStat, all_variables_must_be_there) {
  const std::string_view environment("A=1\0B=2\0BB=3\0", 13);
  EXPECT_TRUE(has_variables(environment, {"B=2", "A=1"}));
  EXPECT_FALSE(has_variables(environment, {"B=2", "C=1"}));
  EXPECT_FALSE(has_variables(environment, {"B="}));
  EXPECT_FALSE(has_variables(environment, {}));
}

}  // namespace
}  // namespace tutti
