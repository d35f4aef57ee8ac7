#include "exec/keeper/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "exec/keeper/folders.h"
#include "exec/keeper/memory_text.h"

namespace tutti {
namespace {

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
char kBash[] = "/bin/bash";
char kPlainShell[] = "/bin/sh";

// What runs scripts without "#!", and what stands in for bash where there is none.
char* shell() {
  return access(kBash, X_OK) == 0 ? kBash : kPlainShell;
}

std::string because(int error) {
  return std::string(": ") + strerror(error);
}

bool is_program(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && access(path.c_str(), X_OK) == 0;
}

// As a shell searches: the first that can be executed, else the first that exists.
std::string search(std::string_view path, const std::string& program, const std::string& workdir) {
  std::string fallback;
  for (;;) {
    const std::size_t colon = path.find(':');
    std::string candidate(path.substr(0, colon));
    if (candidate.empty() || candidate[0] != '/') candidate = workdir + '/' + candidate;
    candidate += '/';
    candidate += program;
    if (is_program(candidate)) return candidate;
    struct stat st {};
    const bool exists = stat(candidate.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
    if (fallback.empty() && exists) fallback = candidate;
    if (colon == std::string_view::npos) return fallback;
    path.remove_prefix(colon + 1);
  }
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<Launcher> Launcher::create(const std::string& home, const std::string& incarnation) {
  Launcher launcher;
  launcher.home_ = home;
  for (const char* folder : {"/logs", "/scripts"}) {
    const std::string path = home + folder;
    if (Result<void> made = make_private_folder(path); !made) return made.error();
  }
  launcher.logs_ = UniqueFd(open((home + "/logs").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!launcher.logs_) return io_error("cannot open the folder '" + home + "/logs'", errno);
  launcher.mark_prefix_ = "TUTTI_KEEPER=" + incarnation + ".";
  getrlimit(RLIMIT_NOFILE, &launcher.descriptors_);
  launcher.self_ = getpid();
  launcher.shell_ = shell();
  return launcher;
}

void Launcher::change_own_limits() {
  rlimit raised = descriptors_;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  umask_ = umask(077);
}

Launched Launcher::start(const StartOrder& order, JobContext& context, std::uint64_t serial,
                         std::span<const int> cgroup_fds) {
  std::string fault;
  const Launch& launch = order.launch;
  if (launch.argv.empty()) return {-1, kCannotExecute, "there is no command to execute"};
  const mode_t mask = context.umask(umask_);
  const UniqueFd out(open_output(launch.stdout_path, mask, fault));
  if (!out) return {-1, kCannotExecute, fault};
  UniqueFd other;
  int err = out.get();
  if (launch.stderr_path != launch.stdout_path) {
    other = UniqueFd(open_output(launch.stderr_path, mask, fault));
    if (!other) return {-1, kCannotExecute, fault};
    err = other.get();
  }
  if (!launch.script_text.empty() && !write_script(order, fault)) {
    return {-1, kCannotExecute, fault};
  }
  if (!launch.cleanup.empty() && !write_cleanup(order, fault)) {
    return {-1, kCannotExecute, fault};
  }
  mark_ = mark_prefix_ + std::to_string(serial);
  const std::string& workdir = context.order().workdir;
  ChildPlan plan;
  plan.envp = context.environment(launch.env, mark_);
  plan.workdir = workdir.empty() ? "/" : workdir.c_str();
  plan.stdout_fd = out.get();
  plan.stderr_fd = err;
  plan.cgroup_fds = cgroup_fds.data();
  plan.cgroup_count = cgroup_fds.size();
  plan.descriptors = descriptors_;
  plan.umask = mask;
  plan.keeper = self_;
  Launched launched = execute(order, context, plan);
  if (launched.pid < 0) clean_up(order);
  return launched;
}

pid_t Launcher::start_cleanup(const StartOrder& order, JobContext& context) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return -1;
  const std::vector<std::string>& words = order.launch.cleanup;
  argv_.clear();
  for (const std::string& word : words) argv_.push_back(const_cast<char*>(word.c_str()));
  argv_.push_back(nullptr);
  ChildPlan plan;
  plan.path = words[0].c_str();
  plan.argv = plan.shell_argv = argv_.data();
  // The variable of the mark is there, so that what set it is replaced, with nothing in it.
  mark_ = "TUTTI_KEEPER=";
  plan.envp = context.environment(order.launch.env, mark_);
  plan.workdir = "/";
  plan.stdout_fd = plan.stderr_fd = null.get();
  plan.descriptors = descriptors_;
  plan.keeper = self_;
  ChildFault fault;
  return start_child(plan, fault);
}

Launched Launcher::execute(const StartOrder& order, JobContext& context, ChildPlan& plan) {
  const Launch& launch = order.launch;
  if (!launch.script_text.empty()) script_ = script_path(order.attempt);
  const std::string program = launch.argv[0] == kScriptPlaceholder && !launch.script_text.empty()
                                  ? script_
                                  : launch.argv[0];
  ChildFault fault;
  std::string path;
  // What was found before may have been moved since: then it is searched again, once.
  for (int round = 0; round < 2; ++round) {
    const bool cached = !context.found(program).empty();
    path = resolve(program, launch, context);
    if (path.empty()) {
      return {-1, kNotFound, "cannot execute '" + program + "'" + because(ENOENT)};
    }
    fill_argv(order, path);
    plan.path = path.c_str();
    plan.argv = argv_.data();
    plan.shell_argv = shell_argv_.data();
    if (const pid_t pid = start_child(plan, fault); pid > 0) return {pid, 0, {}};
    if (!cached || fault.step != ChildFault::kExec) break;
    context.forget(program);
  }
  return explain(plan, fault, program);
}

std::string Launcher::resolve(const std::string& program, const Launch& launch,
                              JobContext& context) const {
  const bool bash = program == "bash" || program == "/bin/bash";
  if (program.find('/') != std::string::npos) {
    return bash ? shell_ : program;
  }
  bool own_path = false;
  const std::string_view path = context.search_path(launch.env, own_path);
  if (!own_path) {
    if (const std::string& known = context.found(program); !known.empty()) return known;
  }
  std::string found = search(path, program, context.order().workdir);
  if (found.empty() && bash) found = shell_;
  if (!own_path && !found.empty()) context.remember(program, found);
  return found;
}

void Launcher::fill_argv(const StartOrder& order, const std::string& path) {
  argv_.clear();
  bool script_left = !order.launch.script_text.empty();
  shell_argv_.assign({shell_, const_cast<char*>(path.c_str())});
  for (const std::string& argument : order.launch.argv) {
    const bool script = script_left && argument == kScriptPlaceholder;
    script_left = script_left && !script;
    argv_.push_back(const_cast<char*>(script ? script_.c_str() : argument.c_str()));
    if (argv_.size() > 1) shell_argv_.push_back(argv_.back());
  }
  argv_.push_back(nullptr);
  shell_argv_.push_back(nullptr);
}

Launched Launcher::explain(const ChildPlan& plan, const ChildFault& fault,
                           const std::string& program) const {
  switch (fault.step) {
    case ChildFault::kFork:
      return {-1, kCannotExecute, "cannot make a process" + because(fault.error)};
    case ChildFault::kCgroup:
      return {-1, kCannotExecute, "cannot put the process under its limits" + because(fault.error),
              fault.error};
    case ChildFault::kWorkdir:
      return {-1, kCannotExecute,
              std::string("cannot enter the work directory '") + plan.workdir + "'" +
                  because(fault.error)};
    case ChildFault::kExec:
      break;
    default:
      return {-1, kCannotExecute, "cannot set up the process" + because(fault.error)};
  }
  const std::string text = "cannot execute '" + program + "'";
  if (fault.error != ENOENT) return {-1, kCannotExecute, text + because(fault.error)};
  struct stat st {};
  if (plan.path[0] == '/' && stat(plan.path, &st) == 0) {
    return {-1, kNotFound, text + ": the interpreter named in its first line does not exist"};
  }
  return {-1, kNotFound, text + because(ENOENT)};
}

Ending Launcher::memory_ending(const StartOrder& order, int exit_code) const {
  const Launch& launch = order.launch;
  const bool has_devices = std::any_of(
      launch.env.begin(), launch.env.end(),
      [](const std::string& entry) { return entry.starts_with("TUTTI_GPU_MEMORY_MIB="); });
  if (!may_tell_of_memory(exit_code, has_devices)) return Ending::kExited;
  for (const std::string* path : {&launch.stderr_path, &launch.stdout_path}) {
    const UniqueFd file(
        openat(logs_.get(), path->c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    std::string tail(kErrorTail, '\0');
    const off_t from = std::max<off_t>(0, status.st_size - static_cast<off_t>(tail.size()));
    const ssize_t got = pread(file.get(), tail.data(), tail.size(), from);
    tail.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    const Ending told = tutti::memory_ending(tail, exit_code, has_devices);
    if (told != Ending::kExited) return told;
  }
  return Ending::kExited;
}

int Launcher::open_output(const std::string& path, mode_t mask, std::string& fault) const {
  // Without O_NONBLOCK a named pipe that nobody reads would stop the keeper.
  constexpr int kFlags =
      O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  // Below the home nobody else looks; files elsewhere are like those that the job makes itself.
  const bool elsewhere = path.starts_with('/');
  if (elsewhere) umask(mask);
  int fd = openat(logs_.get(), path.c_str(), kFlags, 0666);
  if (fd < 0 && errno == ENOENT && make_parent_folders(logs_.get(), path)) {
    fd = openat(logs_.get(), path.c_str(), kFlags, 0666);
  }
  const int error = errno;
  if (elsewhere) umask(077);
  if (fd < 0) {
    fault = "cannot open the output file '" + path + "'" + because(error);
    return -1;
  }
  fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

std::string Launcher::script_path(const AttemptId& attempt) const {
  return home_ + "/scripts/" + std::to_string(attempt.task.job.value) + "." +
         std::to_string(attempt.task.index) + "." + std::to_string(attempt.number);
}

bool Launcher::write_script(const StartOrder& order, std::string& fault) const {
  const std::string path = script_path(order.attempt);
  unlink(path.c_str());
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (fd && write_all(fd.get(), order.launch.script_text)) return true;
  fault = "cannot write the script file '" + path + "'" + because(errno);
  unlink(path.c_str());
  return false;
}

// For who comes after a keeper that was killed: words, each ended by a zero byte.
bool Launcher::write_cleanup(const StartOrder& order, std::string& fault) const {
  const std::string path = script_path(order.attempt) + kCleanupSuffix;
  std::string text;
  for (const std::string& word : order.launch.cleanup) text.append(word).push_back('\0');
  const Result<void> written = replace_file(path, text, false);
  if (!written) fault = written.error().message;
  return written.has_value();
}

void Launcher::clean_up(const StartOrder& order) {
  if (!order.launch.cleanup.empty()) unlink((script_path(order.attempt) + kCleanupSuffix).c_str());
  if (!order.launch.script_text.empty()) unlink(script_path(order.attempt).c_str());
}

}  // namespace tutti
