#include "cli/health.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/home.h"
#include "base/lock_holder.h"
#include "cli/output/gpus.h"
#include "cli/output/text.h"
#include "cli/tool_answer.h"
#include "client/autostart.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

using Level = Finding::Level;
namespace fs = std::filesystem;

constexpr std::int64_t kLeastFreeMiB = 1024;
constexpr std::int64_t kEmptyMiB = 16;
constexpr rlim_t kEnoughDescriptors = 1024;

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

// The home itself, or the nearest folder above it that exists.
std::string existing_part(const std::string& home) {
  fs::path at(home);
  std::error_code failure;
  while (!fs::exists(at, failure) && at.has_parent_path() && at != at.parent_path()) {
    at = at.parent_path();
  }
  return at.string();
}

// Nothing: a home that is not there yet can be made.
std::optional<Finding> cannot_make(const std::string& home, const std::string& place) {
  const fs::path below = fs::path(home).lexically_relative(place);
  const fs::path first = fs::path(place) / *below.begin();
  if (::mkdir(first.c_str(), 0700) == 0) {
    ::rmdir(first.c_str());
    return std::nullopt;
  }
  const std::string why =
      errno == EEXIST ? "is a link to what does not exist" : "cannot be made: " + reason(errno);
  return Finding{Level::kFail, "home",
                 fmt::format("{} {}; set TUTTI_HOME to another folder", first.string(), why)};
}

Finding writable(const std::string& home) {
  const std::string place = existing_part(home);
  std::string probe = place + "/.tutti-doctor-XXXXXX";
  const int fd = ::mkstemp(probe.data());
  if (fd < 0) {
    const int error_number = errno;
    const char* remedy = error_number == EROFS ? "mount it for writing"
                         : error_number == ENOSPC || error_number == EDQUOT
                             ? "free some space"
                             : "give yourself the right to write there";
    return {Level::kFail, "home",
            fmt::format("cannot write in {}: {}; {}, or set TUTTI_HOME to another folder", place,
                        reason(error_number), remedy)};
  }
  const char byte = 0;
  const bool wrote = ::write(fd, &byte, 1) == 1;
  const int error_number = errno;
  ::close(fd);
  ::unlink(probe.c_str());
  if (!wrote) {
    return {Level::kFail, "home",
            fmt::format("cannot write in {}: {}; free some space", place, reason(error_number))};
  }
  if (place != home) {
    if (const auto cannot = cannot_make(home, place)) return *cannot;
    return {Level::kOk, "home", home + " (not there yet; made when the daemon starts)"};
  }
  return {Level::kOk, "home", home};
}

Finding room(const std::string& home) {
  struct statvfs space {};
  if (::statvfs(existing_part(home).c_str(), &space) != 0) {
    return {Level::kWarn, "disk", "cannot see how much is free: " + reason(errno)};
  }
  const auto free = static_cast<std::int64_t>(space.f_bavail * (space.f_frsize >> 10) >> 10);
  const std::string text =
      free > 0 ? format_memory(MiB(free)) + " free" : std::string("less than 1 MiB free");
  if (free < kEmptyMiB) {
    return {Level::kFail, "disk", text + "; nothing can be recorded, free some space"};
  }
  if (free < kLeastFreeMiB) {
    return {Level::kWarn, "disk", text + "; logs of jobs may not fit, free some space"};
  }
  return {Level::kOk, "disk", text};
}

Finding lingering() {
  // Without systemd's login manager nothing ends processes at logout.
  std::error_code failure;
  if (!fs::exists("/run/systemd/system", failure)) {
    return {Level::kOk, "logout", "jobs go on after logout"};
  }
  const passwd* user = ::getpwuid(::getuid());
  const std::string name = user != nullptr ? user->pw_name : "";
  if (::getuid() == 0 || fs::exists("/var/lib/systemd/linger/" + name, failure)) {
    return {Level::kOk, "logout", "jobs go on after logout"};
  }
  std::ifstream settings("/etc/systemd/logind.conf");
  std::string line;
  while (std::getline(settings, line)) {
    if (line.starts_with("KillUserProcesses=yes")) {
      return {Level::kWarn, "logout",
              "this system ends all processes at logout; run 'loginctl enable-linger'"};
    }
  }
  return {Level::kOk, "logout", "jobs go on after logout; 'loginctl enable-linger' makes it sure"};
}

// How many descriptors a process has open; nothing when it cannot be looked at.
std::optional<rlim_t> open_descriptors(std::int64_t pid) {
  std::error_code failure;
  rlim_t count = 0;
  fs::directory_iterator entry(fmt::format("/proc/{}/fd", pid), failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) ++count;
  return failure ? std::nullopt : std::optional(count);
}

Finding descriptors(std::int64_t daemon) {
  rlimit limit{};
  const bool its =
      daemon > 0 && ::prlimit(static_cast<pid_t>(daemon), RLIMIT_NOFILE, nullptr, &limit) == 0;
  if (!its) ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto used = its ? open_descriptors(daemon) : std::nullopt;
  const std::string now = used ? fmt::format(" ({} are)", *used) : std::string();
  const std::string remedy = "raise it with 'ulimit -n 4096' and restart the daemon";
  if (used && *used >= limit.rlim_cur - limit.rlim_cur / 4)
    return {Level::kWarn, "descriptors",
            fmt::format("{} of {} are in use; end clients, or {}", *used, limit.rlim_cur, remedy)};
  if (limit.rlim_cur < kEnoughDescriptors)
    return {Level::kWarn, "descriptors",
            fmt::format("only {} files may be open at once{}; {}", limit.rlim_cur, now, remedy)};
  return {Level::kOk, "descriptors", fmt::format("{} may be open{}", limit.rlim_cur, now)};
}

constexpr Duration kLongestAnswer = seconds(20);
constexpr int kKilled = 128 + SIGKILL;

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Podman does not bring along what stands for process 1 of a container.
bool has_catatonit() {
  for (const char* folder : {"/usr/libexec/podman", "/usr/local/libexec/podman", "/usr/lib/podman",
                             "/usr/local/lib/podman", "/usr/bin"}) {
    if (::access(fmt::format("{}/catatonit", folder).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// What a runtime that answers cannot do for this user; empty: nothing is missing.
std::string lacking(const std::string& runtime) {
  if (runtime != "podman") return {};
  if (!has_catatonit())
    return "without catatonit many programs do not notice that they are to end; install it";
  std::error_code failure;
  if (::getuid() != 0 && !fs::exists("/sys/fs/cgroup/cgroup.controllers", failure))
    return "CPUs and memory of a user's containers are not limited without cgroup v2";
  return {};
}

std::optional<Finding> check_runtime(const std::string& runtime) {
  const auto version = ask_tool({runtime, "--version"}, kLongestAnswer);
  if (!version) return std::nullopt;
  const std::string name = last_line(version->text);
  const auto works = ask_tool({runtime, "info"}, kLongestAnswer);
  if (!works || works->status != 0) {
    std::string why = works ? last_line(works->text) : works.error().message;
    if (why.empty()) {
      why = works->status == kKilled
                ? fmt::format("'{} info' takes longer than {}", runtime,
                              format_duration(kLongestAnswer))
                : fmt::format("'{} info' ended with {}", runtime, works->status);
    }
    return Finding{Level::kWarn, "containers",
                   fmt::format("{}, but it does not work here: {}", name, why)};
  }
  const std::string missing = lacking(runtime);
  if (!missing.empty()) return Finding{Level::kWarn, "containers", name + "; " + missing};
  return Finding{Level::kOk, "containers", name};
}

}  // namespace

std::vector<Finding> check_containers() {
  std::vector<Finding> findings;
  for (const char* runtime : {"podman", "docker"}) {
    if (auto found = check_runtime(runtime)) findings.push_back(std::move(*found));
  }
  if (findings.empty()) {
    findings.push_back({Level::kOk, "containers",
                        "neither podman nor docker is there; jobs with an image need one of them, "
                        "or --no-container"});
  }
  return findings;
}

const char* level_name(Finding::Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarn:
      return "warn";
    case Level::kFail:
      return "fail";
  }
  return "fail";
}

std::vector<Finding> check_home(const std::string& home) {
  return {writable(home), room(home)};
}

std::vector<Finding> check_socket(const std::string& home) {
  const std::string socket = socket_path(home);
  struct stat status {};
  if (::lstat(socket.c_str(), &status) != 0) {
    return {{Level::kOk, "socket", socket + " (not there: no daemon runs)"}};
  }
  if (!S_ISSOCK(status.st_mode)) {
    return {{Level::kFail, "socket", socket + " is not a socket; remove it"}};
  }
  if (status.st_uid != ::getuid()) {
    return {{Level::kFail, "socket",
             fmt::format("{} belongs to user {}; set TUTTI_HOME to a folder of yours", socket,
                         status.st_uid)}};
  }
  if ((status.st_mode & 0077) != 0) {
    return {{Level::kFail, "socket",
             fmt::format("{} has mode {:o}: others can use your daemon; run 'chmod 600' on it",
                         socket, status.st_mode & 0777u)}};
  }
  return {{Level::kOk, "socket", fmt::format("{} (mode {:o})", socket, status.st_mode & 0777u)}};
}

std::vector<Finding> check_no_daemon(const std::string& home, const Result<void>& database) {
  if (!database) {
    return {{Level::kFail, "daemon", "not running"},
            {Level::kFail, "database", database.error().message}};
  }
  const std::string tail = last_lines(daemon_log_path(home), 1);
  // A daemon that gave up says why on the last line of its log. What it says of the database may
  // be mended since.
  const bool from_daemon = tail.starts_with("tutti daemon: ");
  const bool gave_up = (from_daemon && tail.find(": listens on ") == std::string::npos) ||
                       tail.find("cannot") != std::string::npos;
  if (gave_up && tail.find("database " + home) == std::string::npos) {
    return {{Level::kFail, "daemon",
             fmt::format("not running; its log {} ends: {}", daemon_log_path(home), tail)}};
  }
  return {{Level::kWarn, "daemon", "not running; it starts with the first job"},
          {Level::kOk, "limits", "not known: the daemon is not running"}};
}

std::vector<Finding> check_keeper(const std::string& home) {
  const std::int64_t pid = lock_holder(home + "/run/keeper.lock");
  struct stat status {};
  const std::string socket = home + "/run/keeper.sock";
  if (pid == 0 || ::lstat(socket.c_str(), &status) == 0) return {};
  return {{Level::kFail, "keeper",
           fmt::format("pid {} runs, but its socket {} was removed: a daemon that starts cannot "
                       "reach it; run 'kill {}', best when no job runs, for running jobs are lost",
                       pid, socket, pid)}};
}

std::vector<Finding> check_daemon(const Result<StatusView>& status, TimePoint now) {
  if (!status) return {{Level::kFail, "daemon", status.error().message}};
  std::vector<Finding> findings;
  findings.push_back(
      {Level::kOk, "daemon",
       fmt::format("running, pid {}, up {}", status->pid,
                   format_duration(seconds((now - status->started_at).value / 1'000'000)))});
  if (status->version != TUTTI_VERSION) {
    findings.push_back({Level::kWarn, "version",
                        fmt::format("the daemon is {}, this program {}; run 'tutti daemon restart'",
                                    status->version, TUTTI_VERSION)});
  }
  if (status->trouble.empty()) {
    findings.push_back({Level::kOk, "database", "open"});
  } else {
    findings.push_back({Level::kFail, "database", status->trouble});
  }
  const bool real = status->limits_memory && status->limits_cpus;
  findings.push_back({real ? Level::kOk : Level::kWarn, "limits",
                      status->enforcement + (status->enforcement_detail.empty() ? "" : ": ") +
                          status->enforcement_detail});
  return findings;
}

Finding check_gpus(const Result<GpusView>& gpus) {
  if (!gpus) return {Level::kWarn, "gpus", gpus.error().message};
  std::string text = count_types(types_of(gpus->gpus));
  if (!text.empty() && !gpus->source.empty()) text += ", by " + gpus->source;
  std::string faults = gpus->trouble;
  for (const GpuView& gpu : gpus->gpus) {
    if (gpu.healthy) continue;
    faults += fmt::format("{}GPU {} gets no work: {}", faults.empty() ? "" : "; ", gpu.index,
                          gpu.reason.empty() ? "unhealthy" : gpu.reason);
  }
  if (!faults.empty()) {
    return {Level::kFail, "gpus", text.empty() ? faults : text + ": " + faults};
  }
  if (!text.empty()) return {Level::kOk, "gpus", text};
  text = "none found";
  for (std::size_t i = 0; i < gpus->notes.size(); ++i) {
    text += (i == 0 ? ": " : "; ") + gpus->notes[i];
  }
  return {Level::kOk, "gpus", text};
}

std::vector<Finding> check_clock(const std::string& home, TimePoint now) {
  constexpr std::int64_t k2024 = 1'704'067'200'000'000;
  constexpr std::int64_t k2100 = 4'102'444'800'000'000;
  if (now.value < k2024 || now.value > k2100) {
    return {{Level::kFail, "clock", "the system's clock is wrong; set it"}};
  }
  std::error_code failure;
  TimePoint newest;
  for (const auto& entry : fs::directory_iterator(home, failure)) {
    struct stat status {};
    if (::lstat(entry.path().c_str(), &status) != 0) continue;
    newest = std::max(newest, TimePoint(std::int64_t{status.st_mtim.tv_sec} * 1'000'000));
  }
  if (newest - now > seconds(60)) {
    return {
        {Level::kWarn, "clock",
         fmt::format("files in {} are {} in the future; the clock was set back, waiting times may "
                     "be wrong",
                     home, format_duration(newest - now))}};
  }
  return {{Level::kOk, "clock", "plausible"}};
}

std::vector<Finding> check_system(std::int64_t daemon) {
  std::vector<Finding> findings{descriptors(daemon)};
  if (::access("/bin/bash", X_OK) == 0 || ::access("/usr/bin/bash", X_OK) == 0) {
    findings.push_back({Level::kOk, "shell", "bash"});
  } else {
    findings.push_back({Level::kWarn, "shell", "there is no bash; command lines are run by sh"});
  }
  findings.push_back(lingering());
  return findings;
}

}  // namespace tutti
