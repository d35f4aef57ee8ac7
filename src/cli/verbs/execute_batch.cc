#include <fmt/format.h>

#include <filesystem>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/machines/remote_batch.h"
#include "cli/read_text.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kLargestBatch = std::size_t{200} << 20;
constexpr std::uint32_t kMostMegabytes = 1U << 30;

// What both commands take; the defaults are those of need_of.
constexpr Option kNeedOptions[] = {
    {"num-cpus", 0, Kind::kValue, "N", "cores that a job keeps busy (default 1)", {}},
    {"memory-required", 0, Kind::kValue, "MB", "memory of a job (default 7000)", {}},
    {"gpu-memory-required", 0, Kind::kValue, "MB", "memory on its GPU (default 1000)", {}},
    {"gpu-utilization", 0, Kind::kValue, "PART", "part of its GPU's compute (default 0.75)", {}},
    {"no-reserve-gpu", 0, Kind::kFlag, {}, "several jobs may share a GPU", {}},
    {"no-gpu-required", 0, Kind::kFlag, {}, "jobs need no GPU", {}},
    {"reserve", 0, Kind::kFlag, {}, "one job at a time on each machine", {}},
};
constexpr Option kCopyOptions[] = {
    {"copy-forward", 0, Kind::kWords, "PATH...",
     "what jobs find there, below the current folder (default ./)", "<file>"},
    {"copy-backwards", 0, Kind::kWords, "PATH...",
     "what comes back to job_results/NAME (default ./)", "<file>"},
    {"rerun-failed", 0, Kind::kFlag, {}, "run lines again that failed before", {}},
    {"dry-run", 0, Kind::kFlag, {}, "say what would start, and start nothing", {}},
    {"verbose", 0, Kind::kFlag, {}, "say what limits each machine", {}},
    kHelpOption,
};
constexpr Option kBatchMachines[] = {
    {"machines", 0, Kind::kWords, "MACHINE...",
     "machine files (as given, with .yaml, in ~/.local/var) or addresses", "<file>"},
};
constexpr Option kOneMachine[] = {
    {"machine", 0, Kind::kValue, "MACHINE", "a machine file, or an address", "<file>"},
};
constexpr OptionGroup kBatchGroups[] = {
    {"Machines", kBatchMachines}, {"Each job", kNeedOptions}, {"Files", kCopyOptions}};
constexpr OptionGroup kRemoteGroups[] = {
    {"Machine", kOneMachine}, {"The job", kNeedOptions}, {"Files", kCopyOptions}};
constexpr Example kBatchExamples[] = {
    {"execute_batch batch.sh --machines box1.yaml box2.yaml", "every line, on two machines"},
    {"execute_batch batch.sh --machines 'gpu[1-4].lab' --no-gpu-required", "without GPUs"},
};
constexpr Example kRemoteExamples[] = {
    {"execute_remote 'python train.py' --machine box1.yaml", "one command there"},
};

Result<MiB> megabytes(const Arguments& arguments, std::string_view option, std::int64_t otherwise) {
  if (!arguments.has(option)) return MiB(otherwise);
  const auto number = parse_count(option, arguments.value(option), 0, kMostMegabytes);
  if (!number) return number.error();
  return MiB(*number);
}

Result<SlotNeed> need_of(const Arguments& arguments) {
  SlotNeed need;
  const auto cpus = parse_cpus(arguments.has("num-cpus") ? arguments.value("num-cpus") : "1");
  if (!cpus) return cpus.error();
  const auto memory = megabytes(arguments, "memory-required", 7000);
  if (!memory) return memory.error();
  const auto gpu_memory = megabytes(arguments, "gpu-memory-required", 1000);
  if (!gpu_memory) return gpu_memory.error();
  const auto share =
      parse_share(arguments.has("gpu-utilization") ? arguments.value("gpu-utilization") : "0.75");
  if (!share) return share.error();
  need.cpus = *cpus;
  need.memory = *memory;
  need.gpu = !arguments.has("no-gpu-required");
  need.gpu_memory = need.gpu ? *gpu_memory : MiB();
  need.gpu_share = need.gpu ? *share : MilliGpu();
  need.reserve_gpu = need.gpu && !arguments.has("no-reserve-gpu");
  need.reserve_machine = arguments.has("reserve");
  return need;
}

// Paths below the current folder, without "./" at their begin.
Result<std::vector<std::string>> paths_of(const Arguments& arguments, std::string_view option) {
  if (!arguments.has(option)) return std::vector<std::string>{"."};
  std::vector<std::string> paths;
  for (const std::string& text : arguments.list(option)) {
    std::string path = std::filesystem::path(text).lexically_normal().string();
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path.empty() || path.starts_with('/') || path == ".." || path.starts_with("../")) {
      return invalid_input(std::string(option) + " " + shown(text) +
                           ": must be below the current folder");
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<RemoteBatch> batch_of(const Arguments& arguments, const std::vector<std::string>& machines) {
  RemoteBatch batch;
  if (machines.empty()) return invalid_input("no machine; name one, such as a machine file");
  for (const std::string& word : machines) {
    auto found = find_machines(word, user_home());
    if (!found) return found.error();
    batch.machines.insert(batch.machines.end(), found->begin(), found->end());
  }
  const auto need = need_of(arguments);
  if (!need) return need.error();
  batch.need = *need;
  auto forward = paths_of(arguments, "copy-forward");
  if (!forward) return forward.error();
  for (const std::string& path : *forward) {
    std::error_code failure;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, failure)))
      return invalid_input("copy-forward " + shown(path) +
                           ": there is no such file or folder here");
  }
  batch.copy_forward = *std::move(forward);
  auto backwards = paths_of(arguments, "copy-backwards");
  if (!backwards) return backwards.error();
  batch.copy_backwards = *std::move(backwards);
  batch.rerun_failed = arguments.has("rerun-failed");
  batch.dry_run = arguments.has("dry-run");
  batch.verbose = arguments.has("verbose");
  return batch;
}

int run_batch(Session& session, const Arguments& arguments) {
  const std::string& file = arguments.words()[0];
  auto batch = batch_of(arguments, arguments.list("machines"));
  if (!batch) return session.refuse(batch.error());
  auto text = read_text(file, kLargestBatch);
  if (!text) return session.fail(text.error());
  auto lines = parse_batch_file(*text);
  if (!lines) return session.refuse(lines.error());
  if (lines->lines.empty()) {
    session.screen().err("execute_batch: there is no command in it\n");
    return kExitOk;
  }
  batch->file = file;
  batch->batch = *std::move(lines);
  return run_remote_batch(session, *batch);
}

int run_remote(Session& session, const Arguments& arguments) {
  std::vector<std::string> machines;
  if (arguments.has("machine")) machines.push_back(arguments.value("machine"));
  auto batch = batch_of(arguments, machines);
  if (!batch) return session.refuse(batch.error());
  batch->file = "execute_remote";
  batch->batch = {{arguments.words()[0]}, {1}};
  // The same command again is meant to run again.
  batch->again = true;
  return run_remote_batch(session, *batch);
}

}  // namespace

const Verb kExecuteBatchVerb{
    .name = "execute_batch",
    .aliases = kNoAliases,
    .summary = "run every line of a file on machines over SSH, as their free part allows",
    .description =
        "Runs the lines of a file on machines that ssh reaches. Their free cores, memory and GPUs "
        "are measured; each machine gets as many jobs at once as fit beside what others do there. "
        "The current folder is copied to each machine once; output and results come to "
        "job_results/NAME.out, NAME.err and NAME/. Lines that have results are skipped.\n"
        "\n"
        "Ctrl-C cancels what runs and collects what there is; a second one leaves at once. The "
        "exit status is 1 when a line failed. Options that take several words take all up to the "
        "next "
        "option, so that FILE stands first, or after another option or '--'. This is the "
        "ml-scheduler form; 'tutti batch FILE "
        "--on pool' is the native one.",
    .usage = "FILE --machines MACHINE... [OPTIONS]",
    .word_choices = "<file>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kBatchGroups,
    .examples = kBatchExamples,
    .run = run_batch};

const Verb kExecuteRemoteVerb{
    .name = "execute_remote",
    .aliases = kNoAliases,
    .summary = "run one command on a machine over SSH",
    .description =
        "Runs one command line on a machine, as execute_batch does with each line of a file. Its "
        "output and results come to job_results/execute_remote.1.out, .err and the folder of that "
        "name, in place of those of the last call.",
    .usage = "COMMAND --machine MACHINE [OPTIONS]",
    .word_choices = {},
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kRemoteGroups,
    .examples = kRemoteExamples,
    .run = run_remote};

}  // namespace tutti
