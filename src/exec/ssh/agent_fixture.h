#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "exec/keeper/processes.h"
#include "exec/ssh/agent_script.h"
#include "exec/ssh/shell_quote.h"
#include "exec/testing/eventually.h"

namespace tutti {

// A shell that may be at the other end, and which programs it finds there.
struct Shell {
  enum class Tools { kAll, kBusybox, kNoSetsid };
  std::string name;
  std::vector<std::string> argv;
  Tools tools = Tools::kAll;
};

// An order to start an attempt, with what most tests do not care about.
struct AgentStart {
  std::string id = "1.0.1";
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string work_dir = "/";
  std::string staged;
  int time_limit = 0;
  int grace = 30;
  bool merge = false;
  std::string script;
  std::string cleanup;  // for a shell
};

// One shell that was given the agent, over pipes as ssh would connect it.
class Agent {
 public:
  Agent(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
    int in[2];
    int out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      signal(SIGPIPE, SIG_DFL);
      exec(argv, environment);
      _exit(127);
    }
    to_ = UniqueFd(in[1]);
    from_ = UniqueFd(out[0]);
    close(in[0]);
    close(out[1]);
    order(kAgentScript);
    order("printf '\\ntutti-ready %s\\n' 4711\n");
  }
  ~Agent() { end(SIGKILL); }
  Agent(const Agent&) = delete;

  void order(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = write(to_.get(), text.data(), text.size());
      ASSERT_GT(count, 0);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void call(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += shell_quoted(word) + ' ';
    order(line + '\n');
  }
  void start(const AgentStart& wanted) {
    std::vector<std::string> words{"tutti_start",
                                   wanted.id,
                                   wanted.work_dir,
                                   wanted.staged,
                                   std::to_string(wanted.time_limit),
                                   std::to_string(wanted.grace),
                                   wanted.merge ? "1" : "0",
                                   wanted.script,
                                   wanted.cleanup,
                                   std::to_string(wanted.environment.size())};
    words.insert(words.end(), wanted.environment.begin(), wanted.environment.end());
    words.push_back("--");
    words.insert(words.end(), wanted.argv.begin(), wanted.argv.end());
    call(words);
  }

  // The next message that starts so; those before it are passed over.
  std::string await(const std::string& prefix) {
    for (;;) {
      const std::optional<std::string> line = next_line();
      if (!line) {
        ADD_FAILURE() << "no message '" << prefix << "'; there were:\n" << seen_;
        return {};
      }
      seen_ += *line + '\n';
      if (line->starts_with(prefix)) return *line;
    }
  }
  // Everything until the line that is exactly this.
  std::vector<std::string> lines_until(const std::string& last) {
    std::vector<std::string> lines;
    for (auto line = next_line(); line && *line != last; line = next_line()) lines.push_back(*line);
    return lines;
  }
  // The status of an attempt that ends.
  std::string end_of(const std::string& id) {
    const std::string line = await("E " + id + " ");
    return line.empty() ? line : line.substr(3 + id.size());
  }

  void end(int signal) {
    if (pid_ <= 0) return;
    to_.reset();
    if (signal != 0) kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // The connection is gone: nobody reads any more.
  void cut() { from_.reset(); }
  const std::string& seen() const { return seen_; }

 private:
  static void exec(const std::vector<std::string>& argv,
                   const std::vector<std::string>& environment) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (const std::string& one : environment) variables.push_back(const_cast<char*>(one.c_str()));
    variables.push_back(nullptr);
    execve(words[0], words.data(), variables.data());
  }

  std::optional<std::string> next_line() {
    std::size_t end = 0;
    while ((end = text_.find('\n')) == std::string::npos) {
      pollfd ready{from_.get(), POLLIN, 0};
      if (poll(&ready, 1, 30000) != 1) return std::nullopt;
      char buffer[4096];
      const ssize_t count = read(from_.get(), buffer, sizeof buffer);
      if (count <= 0) return std::nullopt;
      text_.append(buffer, static_cast<std::size_t>(count));
    }
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }

  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
  std::string text_;
  std::string seen_;
};

// A host with one of the shells: a home and programs of its own. At the end no process of it is
// left.
class AgentFixture : public testing::TestWithParam<Shell> {
 protected:
  void SetUp() override {
    if (access(GetParam().argv[0].c_str(), X_OK) != 0)
      GTEST_SKIP() << GetParam().argv[0] << " is not installed";
    signal(SIGPIPE, SIG_IGN);
    std::string folder = testing::TempDir() + "/tutti agent.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = std::filesystem::canonical(folder).string();
    root_ = folder_ + "/home/.cache/tutti/r1";
    std::filesystem::create_directories(folder_ + "/bin");
    link_programs();
  }

  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_TRUE(eventually([&] { return processes().empty(); })) << "processes are left";
    for (const pid_t pid : processes()) kill(pid, SIGKILL);
    std::error_code failed;
    std::filesystem::remove_all(folder_, failed);
  }

  // All processes that come from a shell of this host.
  std::vector<pid_t> processes() const {
    std::vector<pid_t> found;
    for_each_process([&](pid_t pid) {
      if (environment_value(pid, "AGENT_TEST=") == folder_ && !is_dead(pid)) found.push_back(pid);
    });
    return found;
  }

  // A shell that was given the agent and has greeted.
  std::unique_ptr<Agent> connect() {
    auto agent = std::make_unique<Agent>(GetParam().argv, environment());
    agent->await("tutti-ready 4711");
    agent->call({"tutti_hello", "r1", "7"});
    agent->await("H 1 ");
    return agent;
  }
  std::unique_ptr<Agent> connect_and_list() {
    auto agent = connect();
    agent->await("Z");
    return agent;
  }

  std::vector<std::string> environment() const {
    const bool all = GetParam().tools == Shell::Tools::kAll;
    return {"HOME=" + folder_ + "/home", "AGENT_TEST=" + folder_,
            "PATH=" + folder_ + "/bin" + (all ? ":/usr/bin:/bin" : "")};
  }

  std::string text_of(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string out_of(const std::string& id) const { return text_of(root_ + "/a/" + id + "/out"); }
  std::string err_of(const std::string& id) const { return text_of(root_ + "/a/" + id + "/err"); }

  void write_program(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/bin/" + name;
    std::filesystem::remove(path);  // it may be a link to the machine's own
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  std::string folder_;
  std::string root_;

 private:
  void link_programs() const {
    const bool busybox = GetParam().tools == Shell::Tools::kBusybox;
    if (GetParam().tools == Shell::Tools::kAll) return;
    for (const char* name : {"mkdir", "rm", "mv", "cp", "cat", "sleep", "grep", "env", "find", "id",
                             "chmod", "date", "sh", "true", "touch", "setsid"}) {
      if (!busybox && std::string(name) == "setsid") continue;
      std::filesystem::create_symlink(
          busybox ? "/usr/bin/busybox" : "/usr/bin/" + std::string(name), folder_ + "/bin/" + name);
    }
  }
};

inline std::vector<Shell> shells() {
  return {{"dash", {"/usr/bin/dash"}},
          {"bash", {"/usr/bin/bash", "--posix"}},
          {"zsh", {"/usr/bin/zsh", "--emulate", "sh"}},
          {"busybox", {"/usr/bin/busybox", "sh"}, Shell::Tools::kBusybox},
          {"bash_without_setsid", {"/usr/bin/bash", "--posix"}, Shell::Tools::kNoSetsid}};
}

inline std::string shell_name(const testing::TestParamInfo<Shell>& shell) {
  return shell.param.name;
}

// The words of a script's call.
inline std::vector<std::string> sh(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

// How an attempt ended: RC MS CPU_MS FLAGS.
struct ToldEnd {
  explicit ToldEnd(const std::string& text) {
    std::istringstream(text) >> rc >> ms >> cpu_ms >> flags;
  }
  int rc = -1;
  long ms = -1;
  long cpu_ms = -1;
  std::string flags;
};

}  // namespace tutti
