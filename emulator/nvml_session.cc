#include "emulator/nvml_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>

#include "base/unique_fd.h"

namespace tutti::emulator {
namespace {

char handles[kMaxUnits];

// How often this process has initialised NVML, and what it then found.
struct Session {
  std::mutex mutex;
  int users = 0;
  GpuFile* file = nullptr;
};

Session& session() {
  static Session only;
  return only;
}

int begin_session() {
  const auto file = current_gpu_file();
  if (!file) return nvml::kDriverNotLoaded;
  {
    LockedGpus gpus(**file);
    if (!gpus.ok()) return nvml::kTimeout;
    if (gpus->failure != 0) return gpus->failure;
  }
  const std::lock_guard held(session().mutex);
  ++session().users;
  session().file = *file;
  return nvml::kSuccess;
}

const char* error_text(int error) {
  switch (error) {
    case nvml::kSuccess:
      return "Success";
    case nvml::kUninitialized:
      return "Uninitialized";
    case nvml::kInvalidArgument:
      return "Invalid Argument";
    case nvml::kNotSupported:
      return "Not Supported";
    case 4:
      return "Insufficient Permissions";
    case nvml::kNotFound:
      return "Not Found";
    case nvml::kInsufficientSize:
      return "Insufficient Size";
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case nvml::kTimeout:
      return "Timeout";
    case 13:
      return "Function Not Found";
    case nvml::kGpuIsLost:
      return "GPU is lost";
    case 16:
      return "GPU requires reset";
    case 18:
      return "Driver/library version mismatch";
    case nvml::kArgumentVersionMismatch:
      return "Argument Version Mismatch";
    default:
      return "Unknown Error";
  }
}

}  // namespace

GpuFile* session_file() {
  const std::lock_guard held(session().mutex);
  return session().file;
}

nvml::Device handle_of(int unit) {
  return &handles[unit];
}

int unit_of(nvml::Device device) {
  const char* place = static_cast<const char*>(device);
  const std::less<> before;
  if (before(place, handles) || !before(place, handles + kMaxUnits)) return -1;
  return static_cast<int>(place - handles);
}

int give_text(char* to, unsigned int size, const char* text) {
  if (to == nullptr) return nvml::kInvalidArgument;
  if (std::strlen(text) >= size) return nvml::kInsufficientSize;
  std::strcpy(to, text);
  return nvml::kSuccess;
}

}  // namespace tutti::emulator

using namespace tutti;
using namespace tutti::emulator;

TUTTI_NVML nvmlInit() {
  return begin_session();
}

TUTTI_NVML nvmlInit_v2() {
  return begin_session();
}

TUTTI_NVML nvmlInitWithFlags(unsigned int) {
  return begin_session();
}

TUTTI_NVML nvmlShutdown() {
  const int working = answer([](LockedGpus&) { return nvml::kSuccess; });
  if (working != nvml::kSuccess) return working;
  const std::lock_guard held(session().mutex);
  if (session().users == 0) return nvml::kUninitialized;
  if (--session().users == 0) session().file = nullptr;
  return nvml::kSuccess;
}

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int error) {
  return error_text(error);
}

TUTTI_NVML nvmlSystemGetDriverVersion(char* version, unsigned int size) {
  return answer([&](LockedGpus&) { return give_text(version, size, "550.54.14 (emulated)"); });
}

TUTTI_NVML nvmlSystemGetNVMLVersion(char* version, unsigned int size) {
  return answer([&](LockedGpus&) { return give_text(version, size, "12.550.54.14 (emulated)"); });
}

TUTTI_NVML nvmlSystemGetCudaDriverVersion(int* version) {
  return answer([&](LockedGpus&) {
    if (version == nullptr) return nvml::kInvalidArgument;
    *version = 12040;
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

TUTTI_NVML nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int size) {
  return answer([&](LockedGpus&) -> int {
    if (name == nullptr || size == 0) return nvml::kInvalidArgument;
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file) return nvml::kNotFound;
    // Arguments end in zero bytes; the first of them is the name.
    const ssize_t got = ::read(file.get(), name, size - 1);
    name[got > 0 ? got : 0] = '\0';
    return nvml::kSuccess;
  });
}
