// tutti-gpu-emulator: makes, shows, breaks and uses emulated GPUs.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "emulator/arguments.h"
#include "emulator/emulator.h"
#include "emulator/gpu_file.h"
#include "emulator/show.h"
#include "emulator/work.h"

namespace tutti::emulator {
namespace {

constexpr std::string_view kCommands[] = {"create", "work", "set", "fail", "show", "help"};
constexpr int kUsageError = 2;

constexpr const char kHelp[] =
    R"(tutti-gpu-emulator: emulated GPUs, kept in a file that processes share

  create SPEC FILE       make FILE with the GPUs of SPEC: 4xA100-80G, 2xA100-80G,1xRTX3090-24G,
                         A100-80G/mig3x20G (three MIG slices of 20 GiB). An equal file is kept.
  show                   the GPUs and the processes on them
  set DEVICE FAULT       DEVICE is an index or a UUID; FAULT is ok, ecc, lost, hot or vanished
  fail CODE              every NVML call returns this error from now on; 0 ends that
  work [OPTION...]       use the devices that CUDA_VISIBLE_DEVICES leaves as a training job would

The file is named by the environment variable TUTTI_EMULATED_GPUS, or by --file FILE before the
command.

Options of work
  --mem SIZE             memory on each device, such as 10G or 512M (1G)
  --start-mem SIZE       memory at the start; the rest comes after --grow-after (all at the start)
  --grow-after SECONDS   when the rest is allocated (0)
  --util SHARE           part of the device that it keeps busy if alone, 0 to 1 (0.5)
  --seconds SECONDS      length of the work on a device that is not crowded (5)
  --no-slowdown          take no longer on a device whose users want more than all of it
  --gpus K               use the first K visible devices (1)
  --children N           the memory is held by N child processes, which die with this one
  --orphan               the children live a minute longer than this one
  --prealloc             take 90 % of the device at once, unless XLA_PYTHON_CLIENT_PREALLOCATE=false
                         or TF_FORCE_GPU_ALLOW_GROWTH=true
  --flavour NAME         whose words to use when memory runs out: torch, jax, tensorflow, hip (torch)

Exit status: 0 done, 1 failed (out of memory, no device, a device lost), 2 wrong usage.
)";

int complain(const std::string& message, int status = kUsageError) {
  std::fprintf(stderr, "tutti-gpu-emulator: %s\n", message.c_str());
  return status;
}

// Turns the answer of a function of emulator.h into an exit status.
int finish(int error, const std::string& what) {
  return error == 0 ? 0 : complain(what + ": " + std::strerror(-error), 1);
}

// Runs body(file) on the file that the environment names.
template <typename Body>
int on_file(Body body) {
  const auto file = current_gpu_file();
  return file ? body(**file) : complain(file.error().message, 1);
}

int create(const std::vector<std::string>& words) {
  if (words.size() != 2) return complain("create takes SPEC and FILE; see --help");
  char error[1024];
  const int failed = tutti_emulator_create(words[1].c_str(), words[0].c_str(), error, sizeof error);
  if (failed == 0) return 0;
  return complain(error, failed == -EINVAL ? kUsageError : 1);
}

int set(const std::vector<std::string>& words) {
  if (words.size() != 2) return complain("set takes DEVICE and FAULT; see --help");
  bool known = false;
  for (const std::string_view name : kFaultNames) known = known || name == words[1];
  if (!known)
    return complain("no fault '" + words[1] + "'; there are ok, ecc, lost, hot, vanished" +
                    did_you_mean(words[1], kFaultNames));
  return on_file([&](GpuFile&) {
    return finish(tutti_emulator_set_fault(words[0].c_str(), words[1].c_str()),
                  "device '" + words[0] + "'");
  });
}

int fail(const std::vector<std::string>& words) {
  if (words.size() != 1) return complain("fail takes CODE; see --help");
  const auto code = parse_whole("CODE", words[0], 0, 999);
  if (!code) return complain(code.error().message);
  return on_file([&](GpuFile&) { return finish(tutti_emulator_fail(*code), "fail"); });
}

int show(const std::vector<std::string>& words) {
  if (!words.empty()) return complain("show takes no arguments");
  return on_file([](GpuFile& file) {
    std::fputs(show_gpus(file).c_str(), stdout);
    return 0;
  });
}

int work(const Arguments& arguments) {
  const auto options = parse_work_options(arguments);
  if (!options) return complain(options.error().message + "; see --help");
  return on_file([&](GpuFile& file) { return run_work(file, *options); });
}

int run(Arguments arguments, bool asks_help) {
  std::string command(arguments.empty() ? "" : arguments.next());
  if (command == "--file") {
    const auto file = arguments.value_of(command);
    if (!file) return complain(file.error().message);
    ::setenv("TUTTI_EMULATED_GPUS", std::string(*file).c_str(), 1);
    command = arguments.empty() ? "" : arguments.next();
  }
  if (asks_help || command == "help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (command == "work") return work(arguments);
  std::vector<std::string> words;
  while (!arguments.empty()) words.emplace_back(arguments.next());
  if (command == "create") return create(words);
  if (command == "set") return set(words);
  if (command == "fail") return fail(words);
  if (command == "show") return show(words);
  if (command.empty()) return complain("no command; see --help");
  return complain("no command '" + command + "'" + did_you_mean(command, kCommands));
}

}  // namespace
}  // namespace tutti::emulator

int main(int argc, char** argv) {
  bool asks_help = false;
  for (int i = 1; i < argc; ++i)
    asks_help = asks_help || std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0;
  const std::span<char*> words(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  return tutti::emulator::run(tutti::emulator::Arguments(words), asks_help);
}
