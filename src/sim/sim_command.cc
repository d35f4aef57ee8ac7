#include "sim/sim_command.h"

#include <algorithm>
#include <limits>

#include "core/spec/quantity.h"

namespace tutti {

std::vector<std::string> SimCommand::argv() const {
  std::vector<std::string> words = {"sim", "runs=" + std::to_string(runs.value) + "us"};
  if (exit_code != 0) words.push_back("exit=" + std::to_string(exit_code));
  if (fails != 0) words.push_back("fails=" + std::to_string(fails));
  if (ignores_stop) words.emplace_back("ignores-stop");
  if (not_started) words.emplace_back("not-started");
  if (gpu_uses.value > 0) words.push_back("gpu-uses=" + std::to_string(gpu_uses.value) + "M");
  if (gpu_load.value > 0)
    words.push_back("gpu-load=" + std::to_string(static_cast<double>(gpu_load.value) / 1000.0));
  return words;
}

Result<SimCommand> SimCommand::parse(const std::vector<std::string>& argv) {
  SimCommand command;
  if (argv.empty() || argv[0] != "sim") return invalid_input("a simulated command begins with sim");
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::size_t equals = std::min(argv[i].find('='), argv[i].size());
    const std::string key = argv[i].substr(0, equals);
    const std::string value = equals < argv[i].size() ? argv[i].substr(equals + 1) : "";
    if (key == "runs") {
      const Result<Duration> runs = parse_duration(value);
      if (!runs) return runs.error();
      command.runs = *runs;
    } else if (key == "exit" || key == "fails") {
      const Result<std::uint32_t> number =
          parse_count(key, value, 0, key == "exit" ? 255u : 1'000'000u);
      if (!number) return number.error();
      if (key == "exit") command.exit_code = static_cast<int>(*number);
      if (key == "fails") command.fails = *number;
    } else if (key == "gpu-uses") {
      const Result<MiB> memory = parse_memory(value);
      if (!memory) return memory.error();
      command.gpu_uses = *memory;
    } else if (key == "gpu-load") {
      const Result<MilliGpu> share = parse_share(value);
      if (!share) return share.error();
      command.gpu_load = *share;
    } else if (key == "ignores-stop" && value.empty()) {
      command.ignores_stop = true;
    } else if (key == "not-started" && value.empty()) {
      command.not_started = true;
    } else {
      return invalid_input("sim does not know '" + argv[i] + "'");
    }
  }
  return command;
}

SimRun SimCommand::run_of(AttemptId attempt) const {
  SimRun run{runs, {}, ignores_stop};
  run.outcome.device_measured = gpu_uses.value > 0;
  run.outcome.device_memory = gpu_uses;
  run.outcome.device_share = gpu_load;
  const bool always = fails == 0 && (exit_code != 0 || not_started);
  if (!always && attempt.number > fails) return run;
  run.outcome.exit_code = exit_code != 0 ? exit_code : 1;
  if (not_started) {
    run.outcome.ending = Ending::kNotStarted;
    run.outcome.exit_code = 127;
  }
  return run;
}

}  // namespace tutti
