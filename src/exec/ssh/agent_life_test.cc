#include <sys/stat.h>

#include <sstream>

#include "exec/ssh/agent_fixture.h"

namespace tutti {
namespace {

// How attempts end, what the next connection is told, what is removed, and what is measured.
class AgentLifeTest : public AgentFixture {};

TEST_P(AgentLifeTest, a_time_limit_ends_an_attempt) {
  const auto agent = connect_and_list();
  agent->start({.argv = sh("sleep 1000"), .time_limit = 1});
  const ToldEnd end(agent->end_of("1.0.1"));
  EXPECT_EQ(end.rc, 128 + SIGTERM);
  EXPECT_EQ(end.flags, "t");
  EXPECT_GE(end.ms, 900);
}

TEST_P(AgentLifeTest, an_attempt_that_is_faster_than_its_limit_leaves_no_watchdog) {
  const auto agent = connect_and_list();
  agent->start({.argv = {"true"}, .time_limit = 1000});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).flags, "-");
  agent->end(0);
  EXPECT_TRUE(eventually([&] { return processes().empty(); }));
}

TEST_P(AgentLifeTest, a_cleanup_runs_before_the_end_is_told) {
  const auto agent = connect_and_list();
  const std::string note = root_ + "/note";
  agent->start({.argv = sh("exit 4"), .cleanup = "echo cleaned >'" + note + "'"});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 4);
  EXPECT_EQ(text_of(note), "cleaned\n");
  EXPECT_NE(access((root_ + "/a/1.0.1/clean").c_str(), F_OK), 0);
  agent->end(0);
  EXPECT_TRUE(eventually([&] { return processes().empty(); }));
}

TEST_P(AgentLifeTest, a_stop_asks_first_and_kills_after_the_grace) {
  const auto agent = connect_and_list();
  agent->start({.id = "1.0.1",
                .argv = sh("trap 'echo asked; exit 5' TERM; echo; while :; do sleep 0.01; done")});
  agent->start({.id = "1.1.1", .argv = sh("trap '' TERM; echo; while :; do sleep 0.01; done")});
  ASSERT_TRUE(eventually([&] { return !out_of("1.0.1").empty() && !out_of("1.1.1").empty(); }));
  agent->call({"tutti_stop", "1.0.1", "60", "s"});
  const ToldEnd asked(agent->end_of("1.0.1"));
  EXPECT_EQ(asked.rc, 5);
  EXPECT_NE(asked.flags.find('s'), std::string::npos);
  EXPECT_EQ(out_of("1.0.1"), "\nasked\n");
  agent->call({"tutti_stop", "1.1.1", "1", "s"});
  EXPECT_EQ(ToldEnd(agent->end_of("1.1.1")).rc, 128 + SIGKILL);
}

TEST_P(AgentLifeTest, a_stop_reaches_what_left_the_session_and_the_end_waits_for_it) {
  const auto agent = connect_and_list();
  const std::string inner = "echo $$ >inner; trap '' TERM; while :; do sleep 0.01; done";
  agent->start({.id = "1.0.1",
                .argv = {"/bin/sh", "-c", "/usr/bin/setsid /bin/sh -c \"$1\" & wait", "sh", inner},
                .work_dir = ""});
  std::string pid;
  ASSERT_TRUE(eventually([&] { return !(pid = text_of(root_ + "/a/1.0.1/work/inner")).empty(); }));
  agent->call({"tutti_stop", "1.0.1", "1", "s"});
  EXPECT_NE(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  EXPECT_TRUE(is_dead(std::stoi(pid)));
}

TEST_P(AgentLifeTest, what_an_attempt_leaves_behind_in_its_group_is_killed) {
  const auto agent = connect_and_list();
  agent->start({.argv = sh("sleep 1000 & echo $!")});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  EXPECT_TRUE(is_dead(std::stoi(out_of("1.0.1"))));
}

// Some know whole seconds only.
TEST_P(AgentLifeTest, what_reads_from_a_pipe_is_waited_for_two_seconds_with_any_sleep) {
  const std::string path = folder_ + "/bin/sleep";
  std::filesystem::remove(path);
  std::ofstream(path) << "#!/bin/sh\ncase $1 in *.*) exit 1 ;; esac\necho >>'" + folder_ +
                             "/naps'\nexec /bin/sleep $1\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const auto agent = connect_and_list();
  agent->start({.argv = sh("/bin/sleep 1000 | /bin/cat & true")});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  EXPECT_LT(text_of(folder_ + "/naps").size(), 10u);
}

TEST_P(AgentLifeTest, a_stop_when_nothing_runs_is_no_error) {
  const auto agent = connect_and_list();
  agent->start({.argv = {"true"}});
  const std::string end = agent->end_of("1.0.1");
  agent->call({"tutti_stop", "1.0.1", "1", "s"});
  agent->call({"tutti_stop", "7.7.7", "1", "s"});
  agent->call({"tutti_probe", "0"});
  EXPECT_TRUE(agent->await("P ").starts_with("P "));
  EXPECT_EQ(text_of(root_ + "/a/1.0.1/rc"), end + "\n");
}

TEST_P(AgentLifeTest, attempts_outlive_the_shell_and_the_next_one_is_told) {
  auto agent = connect_and_list();
  ASSERT_EQ(mkfifo((folder_ + "/gate").c_str(), 0600), 0);
  const UniqueFd gate(open((folder_ + "/gate").c_str(), O_RDWR));
  agent->start({.id = "1.0.1", .argv = sh("read x <gate; echo $x; exit 4"), .work_dir = folder_});
  agent->start({.id = "1.1.1", .argv = sh("exit 6")});
  agent->start({.id = "1.2.1", .argv = sh("echo; exec sleep 1000")});
  agent->end_of("1.1.1");
  ASSERT_TRUE(eventually([&] { return !out_of("1.2.1").empty(); }));
  const std::string pids = text_of(root_ + "/a/1.2.1/pid");
  agent->cut();
  agent->end(SIGKILL);
  // Both the process and its supervisor.
  std::istringstream words(pids);
  std::string pid, birth, boot, supervisor;
  words >> pid >> birth >> boot >> supervisor;
  kill(std::stoi(supervisor), SIGKILL);
  kill(std::stoi(pid), SIGKILL);
  ASSERT_TRUE(
      eventually([&] { return is_dead(std::stoi(pid)) && is_dead(std::stoi(supervisor)); }));

  agent = connect();
  const std::vector<std::string> list = agent->lines_until("Z");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(list[0].starts_with("A 1.0.1 running ")) << list[0];
  EXPECT_TRUE(list[1].starts_with("A 1.1.1 ended 6 ")) << list[1];
  EXPECT_EQ(list[2], "A 1.2.1 gone");
  ASSERT_EQ(write(gate.get(), "x\n", 2), 2);
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 4);
  EXPECT_EQ(out_of("1.0.1"), "x\n");
}

TEST_P(AgentLifeTest, a_process_of_another_boot_or_birth_is_not_the_attempt) {
  auto agent = connect_and_list();
  std::string boot = text_of("/proc/sys/kernel/random/boot_id");
  boot.pop_back();
  const std::string self = std::to_string(getpid());
  const std::string birth = std::to_string(start_ticks(getpid()));
  const auto write_pid = [&](const std::string& id, const std::string& text) {
    std::filesystem::create_directories(root_ + "/a/" + id);
    std::ofstream(root_ + "/a/" + id + "/err").flush();
    std::ofstream(root_ + "/a/" + id + "/pid") << text << '\n';
  };
  write_pid("1.0.1", self + " " + birth + " " + boot + " 0");
  write_pid("1.1.1", self + " 1 " + boot + " " + self);
  write_pid("1.2.1", self + " " + birth + " other " + self);
  agent->call({"tutti_hello", "r1", "7"});
  agent->await("H ");
  EXPECT_EQ(agent->lines_until("Z"),
            (std::vector<std::string>{"A 1.0.1 running " + self, "A 1.1.1 gone", "A 1.2.1 gone"}));
}

TEST_P(AgentLifeTest, a_shell_that_does_not_know_that_it_is_lost_is_ended_by_the_next) {
  const auto lost = connect_and_list();
  const auto agent = connect_and_list();
  EXPECT_EQ(lost->lines_until("nothing"), std::vector<std::string>{});
}

TEST_P(AgentLifeTest, forget_removes_attempts_that_ended_and_no_others) {
  const auto agent = connect_and_list();
  agent->start({.id = "1.0.1", .argv = sh("mkdir d; touch d/f; chmod 0 d"), .work_dir = ""});
  agent->start({.id = "1.1.1", .argv = sh("echo; exec sleep 1000")});
  agent->end_of("1.0.1");
  ASSERT_TRUE(eventually([&] { return !out_of("1.1.1").empty(); }));
  agent->call({"tutti_forget", "1.0.1", "1.1.1", "5.5.5"});
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(root_ + "/a/1.0.1"); }));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/a/1.1.1/pid"));
  agent->call({"tutti_stop", "1.1.1", "0", "s"});
  agent->end_of("1.1.1");
}

// As on NFS, where an open file keeps its folder from being removed.
TEST_P(AgentLifeTest, a_folder_that_cannot_be_removed_at_first_is_removed_later) {
  if (GetParam().tools == Shell::Tools::kBusybox) GTEST_SKIP() << "its rm is a part of the shell";
  write_program("rm", "[ -e '" + folder_ + "/closed' ] && exec /bin/rm \"$@\"; : >'" + folder_ +
                          "/tried'; exit 1\n");
  const auto agent = connect_and_list();
  agent->start({.id = "1.0.1", .argv = sh("true"), .work_dir = ""});
  agent->end_of("1.0.1");
  agent->call({"tutti_forget", "1.0.1"});
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder_ + "/tried"); }));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/a/1.0.1"));
  std::ofstream(folder_ + "/closed").close();
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(root_ + "/a/1.0.1"); }));
}

TEST_P(AgentLifeTest, hello_removes_what_is_old_and_ended_or_unused) {
  { const auto agent = connect_and_list(); }
  for (const char* path : {"/a/1.0.1", "/a/1.1.1", "/files/old", "/files/young", "/files/new"})
    std::filesystem::create_directories(root_ + path);
  for (const char* path :
       {"/a/1.0.1/err", "/a/1.0.1/rc", "/a/1.1.1/err", "/a/1.1.1/rc", "/used/old", "/used/young"})
    std::ofstream(root_ + path) << "0 1 1 -\n";
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 9);
  for (const char* path : {"/a/1.0.1/rc", "/used/old", "/files/old", "/files/young", "/files/new"})
    std::filesystem::last_write_time(root_ + path, long_ago);
  const auto agent = connect_and_list();
  EXPECT_TRUE(eventually([&] {
    return !std::filesystem::exists(root_ + "/a/1.0.1") &&
           !std::filesystem::exists(root_ + "/files/old") &&
           std::filesystem::exists(root_ + "/used/new");
  }));
  for (const char* path : {"/a/1.1.1", "/files/young", "/files/new"})
    EXPECT_TRUE(std::filesystem::exists(root_ + path)) << path;
}

TEST_P(AgentLifeTest, a_probe_measures_cores_and_memory) {
  const auto agent = connect_and_list();
  agent->call({"tutti_probe", "0"});
  std::istringstream words(agent->await("P "));
  agent->await("S");
  std::string p;
  long cpus = 0, busy = -1, total = 0, available = 0;
  words >> p >> cpus >> busy >> total >> available;
  EXPECT_GE(cpus, 1);
  EXPECT_GE(busy, 0);
  EXPECT_LE(busy, cpus * 1000);
  EXPECT_GT(total, 100000);
  EXPECT_GT(available, 0);
  EXPECT_LE(available, total);
}

TEST_P(AgentLifeTest, a_probe_tells_what_nvidia_smi_writes_and_whose_a_process_is) {
  write_program("nvidia-smi",
                "case $1 in\n"
                "--query-gpu=index,uuid,name,pci.bus_id,*) echo '0, GPU-1, A * 100, 00:1, 10, 2, "
                "3, 0, 40' ;;\n"
                "--query-compute-apps=*) echo '" +
                    std::to_string(getpid()) +
                    ", GPU-1, 77' ;;\n"
                    "esac\n");
  const auto agent = connect_and_list();
  agent->call({"tutti_probe", "1"});
  agent->await("P ");
  EXPECT_EQ(agent->lines_until("S"),
            (std::vector<std::string>{"G gpu 0, GPU-1, A * 100, 00:1, 10, 2, 3, 0, 40",
                                      "G app " + std::to_string(getsid(0)) + " " +
                                          std::to_string(getpid()) + ", GPU-1, 77"}));
}

TEST_P(AgentLifeTest, a_probe_tells_that_nvidia_smi_fails) {
  write_program("nvidia-smi", "exit 9\n");
  const auto agent = connect_and_list();
  agent->call({"tutti_probe", "1"});
  EXPECT_EQ(agent->await("G "), "G none 9");
  agent->await("S");
}

TEST_P(AgentLifeTest, an_nvidia_smi_that_hangs_delays_nothing) {
  ASSERT_EQ(mkfifo((folder_ + "/gate").c_str(), 0600), 0);
  write_program("nvidia-smi", "read x <'" + folder_ + "/gate'\nexit 3\n");
  const auto agent = connect_and_list();
  agent->call({"tutti_probe", "1"});
  agent->call({"tutti_probe", "1"});
  EXPECT_EQ(agent->await("G "), "G none 124");
  const UniqueFd gate(open((folder_ + "/gate").c_str(), O_WRONLY));
  ASSERT_EQ(write(gate.get(), "x\n", 2), 2);
  EXPECT_EQ(agent->await("G "), "G none 3");
}

INSTANTIATE_TEST_SUITE_P(Shells, AgentLifeTest, testing::ValuesIn(shells()), shell_name);

}  // namespace
}  // namespace tutti
