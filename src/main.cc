#include <fcntl.h>

#include "cli/cli.h"
#include "daemon/daemon.h"
#include "daemon/recording.h"
#include "sim/simulate/simulate.h"

namespace {

// A closed one would be given to the next file or connection, and what is printed would go there.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

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
  open_standard_streams();
  return tutti::cli_main(argc, argv,
                         {.daemon_run = daemon_run,
                          .keeper_run = tutti::run_keeper,
                          .check_database = tutti::check_home_database,
                          .simulate = simulate});
}
