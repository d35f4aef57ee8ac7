#include "exec/local/sweep.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "exec/keeper/cgroups.h"
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

}  // namespace

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
