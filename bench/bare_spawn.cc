// The physical limit for launching: a bare posix_spawn loop, `width` at a time, each process with
// two fresh output files and nothing else. Usage: bare_spawn COUNT WIDTH FOLDER PROGRAM [ARG…]
// Prints the seconds it took. The folder must be fresh.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

extern char** environ;

namespace {

pid_t launch(const std::string& folder, int number, char** argv) {
  const std::string out = folder + "/" + std::to_string(number) + ".out";
  const std::string err = folder + "/" + std::to_string(number) + ".err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t pid = 0;
  if (posix_spawn(&pid, argv[0], &actions, nullptr, argv, environ) != 0) std::abort();
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int count = std::atoi(argv[1]);
  const int width = std::atoi(argv[2]);
  const std::string folder = argv[3];
  ::mkdir(folder.c_str(), 0755);
  const auto began = std::chrono::steady_clock::now();
  int running = 0;
  for (int number = 0; number < count; ++number) {
    if (running == width) {
      ::waitpid(-1, nullptr, 0);
      --running;
    }
    launch(folder, number, argv + 4);
    ++running;
  }
  while (running-- > 0) ::waitpid(-1, nullptr, 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%.6f\n", took.count());
  return 0;
}
