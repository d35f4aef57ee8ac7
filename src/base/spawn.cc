#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <cerrno>

extern char** environ;

namespace tutti {

Result<pid_t> spawn(const std::vector<std::string>& argv, int in, int out, int err,
                    bool own_session) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int given[] = {in, out, err};
  for (int fd = 0; fd < 3; ++fd) {
    if (given[fd] >= 0) {
      posix_spawn_file_actions_adddup2(&actions, given[fd], fd);
    } else {
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    }
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  const int session = own_session ? POSIX_SPAWN_SETSID : 0;
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session));
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed == ENOENT) return not_found("there is no program '" + argv[0] + "'");
  if (failed != 0) return io_error("cannot start '" + argv[0] + "'", failed);
  return pid;
}

}  // namespace tutti
