// How fast the keeper alone starts very short attempts, beside a bare posix_spawn loop that writes
// the same two fresh files per job. Prints one line per round and the median ratio.
//
//   keeper_launch [JOBS [ROUNDS [FOLDER]]]
//
// Rounds alternate, each in fresh folders; nothing is deleted until the end, because some file
// systems create files slowly for a while after many were deleted.

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "exec/keeper/keeper.h"
#include "exec/keeper/link.h"
#include "exec/keeper/messages.h"
#include "exec/keeper/supervisor.h"
#include "telemetry/monotonic.h"

namespace tutti {
namespace {

constexpr int kAtOnce = 2;

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(1);
}

std::string job_file(int job, const char* suffix) {
  return "1/" + std::to_string(job / 1000) + "/" + std::to_string(job) + suffix;
}

void spawn_one(const std::string& folder, int job) {
  const std::string out = folder + "/" + job_file(job, ".out");
  const std::string err = folder + "/" + job_file(job, ".err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kFlags, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kFlags, 0644);
  char program[] = "/bin/true";
  char* const argv[] = {program, nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, program, &actions, nullptr, argv, environ) != 0) fail("posix_spawn");
  posix_spawn_file_actions_destroy(&actions);
}

double bare(const std::string& folder, int jobs) {
  for (int i = 0; i <= jobs / 1000; ++i) {
    std::filesystem::create_directories(folder + "/1/" + std::to_string(i));
  }
  const std::int64_t begin = monotonic_us();
  int started = 0;
  for (; started < std::min(kAtOnce, jobs); ++started) spawn_one(folder, started);
  for (int ended = 0; ended < jobs; ++ended) {
    if (wait(nullptr) < 0) fail("wait");
    if (started < jobs) spawn_one(folder, started++);
  }
  return jobs * 1e6 / static_cast<double>(monotonic_us() - begin);
}

// Of this process and of all children that were waited for, with theirs.
double cpu_seconds() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    sum += static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  }
  return sum;
}

AttemptId attempt_of(int job) {
  return {{JobId(1), static_cast<std::uint32_t>(job)}, 1};
}

std::string orders_for(int jobs) {
  std::string frames;
  append_frame(frames, Hello{});
  append_frame(frames, ListOrder{});
  ContextOrder context;
  context.job = JobId(1);
  context.workdir = "/";
  for (char** variable = environ; *variable != nullptr; ++variable)
    context.env.push_back(*variable);
  append_frame(frames, context);
  for (int job = 0; job < jobs; ++job) {
    StartOrder order;
    order.attempt = attempt_of(job);
    order.lane = LaneId(1);
    order.staged = job >= kAtOnce;
    order.launch.argv = {"/bin/true"};
    order.launch.env = {"TUTTI_JOB_ID=1", "TUTTI_TASK_INDEX=" + std::to_string(job),
                        "TUTTI_ATTEMPT=1"};
    order.launch.stdout_path = job_file(job, ".out");
    order.launch.stderr_path = job_file(job, ".err");
    append_frame(frames, order);
  }
  return frames;
}

void send_orders(int fd, const std::string& frames) {
  for (std::size_t sent = 0; sent < frames.size();) {
    const ssize_t n = write(fd, frames.data() + sent, frames.size() - sent);
    if (n <= 0) fail("write");
    sent += static_cast<std::size_t>(n);
  }
}

void await_ends(int fd, int jobs) {
  FrameBuffer in;
  for (int ended = 0; ended < jobs;) {
    const ssize_t n = recv(fd, in.reserve(1 << 16), 1 << 16, 0);
    if (n <= 0) fail("recv");
    in.commit(static_cast<std::size_t>(n));
    Ack ack;
    for (Frame frame; in.next(frame) == FrameBuffer::Next::kFrame;) {
      const Result<FromKeeper> message = decode_from_keeper(frame);
      const auto* end = message ? std::get_if<AttemptEnded>(&*message) : nullptr;
      if (end == nullptr) continue;
      if (!end->outcome.succeeded()) fail(end->outcome.message.c_str());
      ++ended;
      ack.ended.push_back(end->attempt);
    }
    std::string frames;
    append_frame(frames, ack);
    send_orders(fd, frames);
  }
}

double kept(const std::string& folder, int jobs) {
  std::filesystem::create_directories(folder);
  const pid_t keeper = fork();
  if (keeper == 0) _exit(keeper_main({folder}));
  Result<UniqueFd> fd = connect_to_keeper(folder);
  while (!fd) {
    usleep(1000);
    fd = connect_to_keeper(folder);
  }
  const std::string frames = orders_for(jobs);
  const std::int64_t begin = monotonic_us();
  send_orders(fd->get(), frames);
  await_ends(fd->get(), jobs);
  const double rate = jobs * 1e6 / static_cast<double>(monotonic_us() - begin);
  fd->reset();
  waitpid(keeper, nullptr, 0);
  return rate;
}

int run(int jobs, int rounds, const std::string& parent) {
  std::string folder = parent + "/keeper-launch.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) fail(folder.c_str());
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const std::string here = folder + "/" + std::to_string(round);
    const double cpu_before = cpu_seconds();
    const double loop = bare(here + ".bare", jobs);
    const double cpu_between = cpu_seconds();
    const double keeper = kept(here + ".keeper", jobs);
    ratios.push_back(keeper / loop);
    printf("posix_spawn loop %.0f/s, keeper %.0f/s, ratio %.3f (CPU %.0f and %.0f us per job)\n",
           loop, keeper, ratios.back(), (cpu_between - cpu_before) * 1e6 / jobs,
           (cpu_seconds() - cpu_between) * 1e6 / jobs);
    fflush(stdout);
  }
  std::sort(ratios.begin(), ratios.end());
  printf("median ratio %.3f of %d jobs, %d at a time\n", ratios[ratios.size() / 2], jobs, kAtOnce);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? atoi(argv[1]) : 10000;
  const int rounds = argc > 2 ? atoi(argv[2]) : 3;
  return tutti::run(std::max(jobs, 1), std::max(rounds, 1), argc > 3 ? argv[3] : "/var/tmp");
}
