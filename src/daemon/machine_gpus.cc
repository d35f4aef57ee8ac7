#include "daemon/machine_gpus.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr char kVariable[] = "TUTTI_EMULATED_GPUS";

// Beside the program as it is built, or where it is installed.
Result<std::string> find_emulator() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  const fs::path folder = program.parent_path();
  for (const fs::path& place :
       {folder / "emulator" / kLibrary, folder.parent_path() / "lib/tutti/emulator" / kLibrary}) {
    if (fs::exists(place, failure)) return place.string();
  }
  return Error{ErrorCode::kNotFound, "cannot emulate GPUs: the emulator's library is neither in " +
                                         (folder / "emulator").string() + " nor in " +
                                         (folder.parent_path() / "lib/tutti/emulator").string() +
                                         "; build or install it, or start without --emulate-gpus"};
}

Result<void> create_state(const std::string& library, const std::string& path,
                          const std::string& spec) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Error{ErrorCode::kUnavailable, std::string("cannot emulate GPUs: ") + dlerror()};
  using Create = int (*)(const char*, const char*, char*, std::size_t);
  const auto create = reinterpret_cast<Create>(dlsym(handle, "tutti_emulator_create"));
  if (create == nullptr)
    return Error{ErrorCode::kUnavailable, library + " is not Tutti's emulator; install it again"};
  std::array<char, 512> why{};
  if (create(path.c_str(), spec.c_str(), why.data(), why.size()) != 0)
    return invalid_input("--emulate-gpus " + spec + ": " + why.data());
  return {};
}

}  // namespace

Result<MachineGpus> find_machine_gpus(const std::string& home, const std::string& emulate) {
  MachineGpus machine;
  if (emulate.empty()) {
    // A daemon that an emulated job started must not take the emulator's devices for real ones.
    unsetenv(kVariable);
    machine.gpus = find_gpus({});
    return machine;
  }
  const Result<std::string> library = find_emulator();
  if (!library) return library.error();
  machine.emulation = home + "/run/emulated-gpus";
  if (const auto made = create_state(*library, machine.emulation, emulate); !made)
    return made.error();
  setenv(kVariable, machine.emulation.c_str(), 1);
  // Nothing real beside them: whoever tries emulated GPUs wants those alone.
  constexpr char kNone[] = "/nonexistent";
  machine.gpus = find_gpus(
      {.nvml_library = *library, .rocm_library = kNone, .nvidia_smi = kNone, .rocm_smi = kNone});
  return machine;
}

}  // namespace tutti
