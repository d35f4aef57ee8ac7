#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "telemetry/rocm_abi.h"
#include "telemetry/shared_library.h"

namespace tutti {

// The functions of one opened librocm_smi64. Those that it must have are checked at open(); the
// others are null when it lacks them. Knows nothing of what the answers mean. One thread.
class RocmLibrary {
 public:
  static Result<std::unique_ptr<RocmLibrary>> open(const std::string& path);
  std::string text_of(int code) const;

  int (*init)(std::uint64_t flags) = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(std::uint32_t*) = nullptr;
  int (*memory_total)(std::uint32_t, int kind, std::uint64_t*) = nullptr;
  int (*memory_used)(std::uint32_t, int kind, std::uint64_t*) = nullptr;
  // May be null from here on.
  int (*name)(std::uint32_t, char*, std::size_t) = nullptr;
  int (*brand)(std::uint32_t, char*, std::uint32_t) = nullptr;
  int (*unique_id)(std::uint32_t, std::uint64_t*) = nullptr;
  int (*pci)(std::uint32_t, std::uint64_t*) = nullptr;
  int (*busy_percent)(std::uint32_t, std::uint32_t*) = nullptr;
  int (*error_counts)(std::uint32_t, std::uint64_t block, rocm::ErrorCounts*) = nullptr;
  int (*processes)(rocm::Process*, std::uint32_t*) = nullptr;
  int (*gpus_of_process)(std::uint32_t pid, std::uint32_t*, std::uint32_t*) = nullptr;
  int (*process_on_gpu)(std::uint32_t pid, std::uint32_t, rocm::Process*) = nullptr;

 private:
  explicit RocmLibrary(SharedLibrary library) : library_(std::move(library)) {}
  void resolve();

  SharedLibrary library_;
  int (*status_string_)(int, const char**) = nullptr;
};

}  // namespace tutti
