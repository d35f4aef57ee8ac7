#include "core/spec/rank_programs.h"

namespace tutti {
namespace {

// Ray is a package of some Python, and its program names which.
constexpr char kWithPythonOfRay[] = R"(program=$1
shift
ray=$(command -v ray) || {
  echo "tutti: there is no ray on the PATH of ${TUTTI_NODE-this node}:" \
    "install it there, or put its environment's bin folder on PATH" >&2
  exit 127
}
IFS= read -r first <"$ray"
python=${first#"#!"}
[ -x "$python" ] || python=python3
exec "$python" -c "$program" "$@")";

constexpr char kWithPython[] = R"(program=$1
shift
python=$(command -v python3) || {
  echo "tutti: there is no python3 on the PATH of ${TUTTI_NODE-this node}: ranks of mpi need one" >&2
  exit 127
}
exec "$python" -c "$program" "$@")";

}  // namespace

std::vector<std::string> rank_argv(Framework framework, const std::vector<std::string>& command) {
  const bool ray = framework == Framework::kRay;
  std::vector<std::string> argv = {"/bin/sh", "-c", ray ? kWithPythonOfRay : kWithPython,
                                   std::string("tutti-") + framework_name(framework),
                                   ray ? kRayRank : kMpiRank};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

std::vector<std::string> rank_cleanup(Framework framework, std::uint32_t port) {
  const char* const text =
      "name=tutti-$1.$(id -u)-$2; rm -f -- \"$(cat \"/tmp/$name/work\")\"; "
      "rm -rf -- \"/tmp/$name\" \"/dev/shm/$name\"";
  return {"/bin/sh", "-c", text, "tutti", framework_name(framework), std::to_string(port)};
}

}  // namespace tutti
