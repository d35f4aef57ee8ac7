// How long one command takes from posix_spawn to wait, median of COUNT runs, output discarded.
// Usage: latency COUNT PROGRAM [ARG…]. Prints the seconds.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern char** environ;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<double> took;
  for (int run = 0; run < std::atoi(argv[1]); ++run) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    const auto began = std::chrono::steady_clock::now();
    pid_t pid = 0;
    if (posix_spawn(&pid, argv[2], &actions, nullptr, argv + 2, environ) != 0) std::abort();
    int status = 0;
    ::waitpid(pid, &status, 0);
    took.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) return 1;
  }
  std::sort(took.begin(), took.end());
  std::printf("%.6f\n", took[took.size() / 2]);
  return 0;
}
