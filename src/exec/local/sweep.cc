#include "exec/local/sweep.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/spawn.h"
#include "exec/keeper/cgroups.h"
#include "exec/keeper/launcher.h"
#include "exec/keeper/processes.h"
#include "telemetry/monotonic.h"

namespace tutti {
namespace {

constexpr std::int64_t kPatienceUs = 30 * 1000 * 1000;

// Kills once what is found; returns whether anything was alive.
bool kill_found(const std::string& mark, const std::vector<pid_t>& sessions) {
  bool found = false;
  const pid_t self = getpid();
  for_each_process([&](pid_t pid) {
    if (pid == self) return;
    const bool member = std::binary_search(sessions.begin(), sessions.end(), getsid(pid));
    if (!member && environment_value(pid, mark).empty()) return;
    if (is_dead(pid)) return;
    found = true;
    kill(pid, SIGKILL);
  });
  return found;
}

// The words of a file with a clean-up command; none: there is no such file any more.
std::vector<std::string> cleanup_words(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// Until all have ended; what has not by then is killed.
void await(std::vector<pid_t> children, std::int64_t until) {
  while (!children.empty()) {
    const bool late = monotonic_us() > until;
    std::erase_if(children, [&](pid_t pid) {
      if (late) kill(-pid, SIGKILL);
      return waitpid(pid, nullptr, late ? 0 : WNOHANG) != 0;
    });
    const timespec pause{0, 5 * 1000 * 1000};
    if (!children.empty()) nanosleep(&pause, nullptr);
  }
}

}  // namespace

void run_cleanups(const std::string& home) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(home + "/scripts", failed)) {
    if (entry.path().string().ends_with(kCleanupSuffix)) files.push_back(entry.path());
  }
  std::vector<pid_t> children;
  for (const std::filesystem::path& file : files) {
    const std::vector<std::string> words = cleanup_words(file);
    const Result<pid_t> started =
        words.empty() ? not_found("no words") : spawn(words, -1, -1, -1, true);
    if (started) children.push_back(*started);
  }
  await(std::move(children), monotonic_us() + kPatienceUs);
  for (const std::filesystem::path& file : files) std::filesystem::remove(file, failed);
}

bool sweep(const KeeperRecord& keeper, const std::vector<pid_t>& sessions) {
  std::vector<pid_t> sorted = sessions;
  std::sort(sorted.begin(), sorted.end());
  const std::string mark = "TUTTI_KEEPER=" + keeper.incarnation + ".";
  const std::int64_t until = monotonic_us() + kPatienceUs;
  // A process may be born behind the back of one look: only two in a row that find none count.
  for (int clean = 0; clean < 2;) {
    clean = kill_found(mark, sorted) ? 0 : clean + 1;
    if (clean >= 2) break;
    if (monotonic_us() > until) return false;
    const timespec pause{0, 2 * 1000 * 1000};
    nanosleep(&pause, nullptr);
  }
  for (const std::string& root : keeper.cgroups) empty_cgroups(root);
  return true;
}

}  // namespace tutti
