#include "cli/cli.h"
#include "daemon/daemon.h"
#include "daemon/recording.h"
#include "sim/simulate/simulate.h"

namespace {

int daemon_run(const tutti::DaemonArguments& arguments) {
  return tutti::run_daemon({.home = arguments.home,
                            .slots = arguments.slots,
                            .memory = tutti::MiB(arguments.memory_mib),
                            .ports = arguments.ports,
                            .listen = arguments.listen,
                            .token_path = arguments.token_path,
                            .tls_certificate = arguments.tls_certificate,
                            .tls_key = arguments.tls_key,
                            .emulate_gpus = arguments.emulate_gpus});
}

tutti::Result<std::vector<tutti::RunFigures>> simulate(const tutti::SimulationRequest& request,
                                                       const tutti::SimulationSinks& sinks) {
  return tutti::simulate(request, sinks, tutti::read_recording);
}

}  // namespace

int main(int argc, char** argv) {
  return tutti::cli_main(argc, argv,
                         {.daemon_run = daemon_run,
                          .keeper_run = tutti::run_keeper,
                          .check_database = tutti::check_home_database,
                          .simulate = simulate});
}
