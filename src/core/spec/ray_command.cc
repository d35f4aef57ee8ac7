#include "core/spec/ray_command.h"

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

}  // namespace

std::vector<std::string> ray_argv(const std::vector<std::string>& command) {
  std::vector<std::string> argv = {"/bin/sh", "-c", kWithPythonOfRay, "tutti-ray", kRayRank};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace tutti
