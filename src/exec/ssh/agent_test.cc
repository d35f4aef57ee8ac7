#include <sys/stat.h>

#include <set>
#include <sstream>

#include "exec/ssh/agent_fixture.h"

namespace tutti {
namespace {

// Greetings and starts.
class AgentTest : public AgentFixture {};

TEST_P(AgentTest, the_script_writes_nothing_before_it_is_asked) {
  Agent agent(GetParam().argv, environment());
  EXPECT_EQ(agent.lines_until("tutti-ready 4711"), std::vector<std::string>{""});
}

TEST_P(AgentTest, hello_makes_the_root_and_says_what_the_host_has) {
  Agent agent(GetParam().argv, environment());
  agent.call({"tutti_hello", "r1", "7"});
  std::istringstream words(agent.await("H "));
  std::string h, version, uid, boot, bash, setsid, rsync, holes, root;
  words >> h >> version >> uid >> boot >> bash >> setsid >> rsync >> holes;
  getline(words, root);
  EXPECT_EQ(version, "1");
  EXPECT_EQ(uid, std::to_string(getuid()));
  EXPECT_EQ(boot + "\n", text_of("/proc/sys/kernel/random/boot_id"));
  EXPECT_EQ(bash, access("/bin/bash", X_OK) == 0 ? "1" : "0");
  EXPECT_EQ(setsid, GetParam().tools == Shell::Tools::kNoSetsid ? "0" : "1");
  EXPECT_EQ(root, " - - " + root_);
  EXPECT_EQ(agent.await("Z"), "Z");
  struct stat found {};
  ASSERT_EQ(stat(root_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
}

TEST_P(AgentTest, a_root_that_cannot_be_made_is_refused_with_the_reason) {
  Agent agent(GetParam().argv, environment());
  agent.call({"tutti_hello", "/proc/nowhere", "7"});
  EXPECT_NE(agent.await("X - cannot use /proc/nowhere: ").find("mkdir"), std::string::npos);
}

TEST_P(AgentTest, an_attempt_begins_and_ends_with_its_status) {
  const auto agent = connect_and_list();
  agent->start({.id = "1.0.1", .argv = sh("exit 3")});
  EXPECT_GT(std::stoi(agent->await("B 1.0.1 ").substr(8)), 1);
  const ToldEnd end(agent->end_of("1.0.1"));
  EXPECT_EQ(end.rc, 3);
  EXPECT_GE(end.ms, 0);
  EXPECT_GE(end.cpu_ms, 0);
  EXPECT_EQ(end.flags, "-");
  EXPECT_TRUE(text_of(root_ + "/a/1.0.1/rc").starts_with("3 "));
}

TEST_P(AgentTest, statuses_are_those_of_a_shell) {
  const auto agent = connect_and_list();
  agent->start({.id = "1.0.1", .argv = {"true"}});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  agent->start({.id = "1.1.1", .argv = sh("kill -9 $$")});
  EXPECT_EQ(ToldEnd(agent->end_of("1.1.1")).rc, 128 + SIGKILL);
  agent->start({.id = "1.2.1", .argv = {"/no/such/program"}});
  EXPECT_EQ(ToldEnd(agent->end_of("1.2.1")).rc, 127);
  EXPECT_NE(err_of("1.2.1").find("/no/such/program"), std::string::npos);
  agent->start({.id = "1.3.1", .argv = {"/etc/passwd"}});
  EXPECT_EQ(ToldEnd(agent->end_of("1.3.1")).rc, 126);
}

TEST_P(AgentTest, time_and_cpu_time_are_measured) {
  const auto agent = connect_and_list();
  agent->start({.argv = sh("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done")});
  const ToldEnd end(agent->end_of("1.0.1"));
  EXPECT_GE(end.cpu_ms, 20);
  EXPECT_LE(end.cpu_ms, end.ms + 50);
}

TEST_P(AgentTest, arguments_and_variables_arrive_as_they_are) {
  const auto agent = connect_and_list();
  const std::vector<std::string> odd{
      "",     "it's", "a  b",  "-n",          "--", "line\nline\n", "$(id)",
      "`id`", "\"",   "\\n\\", "K\xc3\xb6ln", "*",  "%s",           "\t"};
  std::vector<std::string> argv = sh("printf '<%s>' \"$@\"");
  argv.push_back("sh");
  argv.insert(argv.end(), odd.begin(), odd.end());
  agent->start({.id = "1.0.1", .argv = argv});
  agent->end_of("1.0.1");
  std::string expected;
  for (const std::string& word : odd) expected += "<" + word + ">";
  EXPECT_EQ(out_of("1.0.1"), expected);

  // Among them such as are special to shells.
  agent->start({.id = "1.1.1",
                .argv = {"env"},
                .environment = {"PLAIN=a 'b'\n$(id)", "UID=12", "IFS=x", "OPTIND=y", "PPID=z",
                                "EMPTY=", "PATH=/usr/bin:/bin"}});
  EXPECT_EQ(ToldEnd(agent->end_of("1.1.1")).rc, 0);
  const std::string variables = "\n" + out_of("1.1.1");
  for (const char* one : {"\nPLAIN=a 'b'\n$(id)\n", "\nUID=12\n", "\nIFS=x\n", "\nOPTIND=y\n",
                          "\nPPID=z\n", "\nEMPTY=\n", "\nHOME=", "\nPATH=/usr/bin:/bin\n"}) {
    EXPECT_NE(variables.find(one), std::string::npos) << one << " is not in " << variables;
  }
}

TEST_P(AgentTest, output_is_kept_byte_by_byte_and_input_is_empty) {
  const auto agent = connect_and_list();
  agent->start({.argv = sh("cat; printf 'a\\0b\\377'; printf 'no newline' >&2")});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).flags, "oe");
  EXPECT_EQ(out_of("1.0.1"), std::string("a\0b\xff", 4));
  EXPECT_EQ(err_of("1.0.1"), "no newline");
}

TEST_P(AgentTest, no_signal_is_ignored_and_no_descriptor_is_left_open) {
  const auto agent = connect_and_list();
  agent->start(
      {.argv = sh("grep SigIgn /proc/$$/status; for f in /proc/$$/fd/*; do echo ${f##*/}; done")});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  std::istringstream out(out_of("1.0.1"));
  std::string word, mask, fd;
  out >> word >> mask;
  // Not every env can restore what shells ignore in the background.
  const bool restored = GetParam().tools != Shell::Tools::kBusybox;
  EXPECT_EQ(std::stoul(mask, nullptr, 16) & (restored ? 0x1007U : 0x1001U), 0U);
  while (out >> fd) EXPECT_NE(fd, "8");
}

TEST_P(AgentTest, an_attempt_has_its_own_folder_or_the_one_that_was_named) {
  const auto agent = connect_and_list();
  agent->start({.id = "1.0.1", .argv = sh("pwd"), .work_dir = ""});
  agent->end_of("1.0.1");
  EXPECT_EQ(out_of("1.0.1"), root_ + "/a/1.0.1/work\n");
  agent->start({.id = "1.1.1", .argv = sh("pwd"), .work_dir = folder_});
  agent->end_of("1.1.1");
  EXPECT_EQ(out_of("1.1.1"), folder_ + "\n");
  agent->start({.id = "1.2.1", .argv = sh("pwd"), .work_dir = "/no/such"});
  EXPECT_EQ(agent->await("X "), "X 1.2.1 cannot enter the work directory /no/such");
}

// Nothing that was left to be done for the first start may harm the second one.
TEST_P(AgentTest, an_attempt_that_was_refused_can_be_started_at_once) {
  const auto agent = connect_and_list();
  for (int tries = 0; tries < 10; ++tries) {
    agent->start({.argv = {"true"}, .work_dir = "", .staged = "d1"});
    EXPECT_EQ(agent->await("X "), "X 1.0.1 no staged files d1");
    EXPECT_FALSE(std::filesystem::exists(root_ + "/a/1.0.1"));
  }
  std::filesystem::create_directories(root_ + "/files/d1");
  agent->start({.argv = {"true"}, .work_dir = "", .staged = "d1"});
  EXPECT_EQ(agent->end_of("1.0.1").substr(0, 1), "0");
}

TEST_P(AgentTest, staged_files_are_copied_for_each_attempt) {
  const auto agent = connect_and_list();
  std::filesystem::create_directories(root_ + "/files/d1/sub");
  std::ofstream(root_ + "/files/d1/sub/.hidden") << "text";
  agent->start({.id = "1.0.1",
                .argv = sh("cat sub/.hidden; rm sub/.hidden"),
                .work_dir = "",
                .staged = "d1"});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  EXPECT_EQ(out_of("1.0.1"), "text");
  EXPECT_TRUE(std::filesystem::exists(root_ + "/files/d1/sub/.hidden"));
  agent->start({.id = "1.1.1", .argv = {"true"}, .work_dir = "", .staged = "d2"});
  EXPECT_EQ(agent->await("X "), "X 1.1.1 no staged files d2");
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(root_ + "/a/1.1.1"); }));
}

TEST_P(AgentTest, a_start_has_effect_once) {
  const auto agent = connect_and_list();
  const std::vector<std::string> argv = sh("echo x >>'" + folder_ + "/count'");
  agent->start({.argv = argv});
  agent->start({.argv = argv});
  const std::string first = agent->end_of("1.0.1");
  agent->start({.argv = argv});
  EXPECT_EQ(agent->end_of("1.0.1"), first);
  EXPECT_EQ(text_of(folder_ + "/count"), "x\n");
}

TEST_P(AgentTest, a_root_that_became_unusable_refuses_with_the_reason) {
  const auto agent = connect_and_list();
  std::filesystem::remove_all(root_ + "/a");
  std::ofstream(root_ + "/a") << "no folder";
  agent->start({.id = "1.0.1", .argv = {"true"}});
  EXPECT_NE(agent->await("X 1.0.1 cannot make ").find("mkdir"), std::string::npos);
}

TEST_P(AgentTest, room_is_used_once_and_what_is_not_used_is_no_attempt) {
  auto agent = connect_and_list();
  agent->call({"tutti_room", "1.0.1", "1.1.1", "1.2.1"});
  agent->start({.id = "1.0.1", .argv = sh("pwd"), .work_dir = ""});
  agent->start({.id = "1.1.1", .argv = sh("pwd")});
  const std::string first = agent->end_of("1.0.1");
  agent->call({"tutti_room", "1.0.1"});
  agent->start({.id = "1.0.1", .argv = sh("pwd"), .work_dir = ""});
  EXPECT_EQ(agent->end_of("1.0.1"), first);
  EXPECT_EQ(out_of("1.0.1"), root_ + "/a/1.0.1/work\n");
  EXPECT_TRUE(eventually([&] { return text_of(root_ + "/a/1.1.1/rc").ends_with("\n"); }));
  agent = connect();
  EXPECT_EQ(agent->lines_until("Z").size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/a/1.2.1"));
}

TEST_P(AgentTest, many_attempts_run_at_once) {
  const auto agent = connect_and_list();
  // Two hundred with the shell that most hosts have.
  const int many = GetParam().name == "dash" ? 200 : 40;
  const std::string gate = folder_ + "/gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  for (int i = 0; i < many; ++i) {
    // It waits until somebody opens the other end.
    agent->start({.id = "1." + std::to_string(i) + ".1",
                  .argv = sh(": <'" + gate + "'; exit " + std::to_string(i % 100))});
  }
  for (int i = 0; i < many; ++i) agent->await("B ");
  const UniqueFd open_gate(open(gate.c_str(), O_WRONLY));
  std::set<std::string> ended;
  for (int i = 0; i < many; ++i) {
    std::istringstream words(agent->await("E "));
    std::string e, id;
    int rc = -1;
    words >> e >> id >> rc;
    EXPECT_EQ(rc, std::stoi(id.substr(2)) % 100);
    ended.insert(id);
  }
  EXPECT_EQ(ended.size(), static_cast<std::size_t>(many));
}

TEST_P(AgentTest, both_streams_may_go_to_one_file_in_their_order) {
  const auto agent = connect_and_list();
  agent->start({.argv = sh("echo a; echo b >&2; echo c"), .merge = true});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).flags, "o");
  EXPECT_EQ(out_of("1.0.1"), "a\nb\nc\n");
}

TEST_P(AgentTest, a_script_is_written_as_it_is_and_can_be_executed) {
  const auto agent = connect_and_list();
  const std::string script = "#!/bin/sh\nprintf '%s|' \"$0\" \"$1\"\n# it's \\n a $(comment)";
  const std::string path = root_ + "/a/1.0.1/script";
  agent->start({.argv = {path, "x y"}, .script = script});
  EXPECT_EQ(ToldEnd(agent->end_of("1.0.1")).rc, 0);
  EXPECT_EQ(text_of(path), script);
  EXPECT_EQ(out_of("1.0.1"), path + "|x y|");
}

INSTANTIATE_TEST_SUITE_P(Shells, AgentTest, testing::ValuesIn(shells()), shell_name);

}  // namespace
}  // namespace tutti
