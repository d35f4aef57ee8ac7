#pragma once

#include <pthread.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "emulator/gpu_spec.h"

namespace tutti::emulator {

inline constexpr int kMaxUnits = kMaxGpus * (1 + kMaxSlices);
inline constexpr int kMaxHoldings = 1024;

enum class Fault : std::int32_t { kOk, kEcc, kLost, kHot, kVanished };
inline constexpr std::string_view kFaultNames[] = {"ok", "ecc", "lost", "hot", "vanished"};

// One GPU, or one MIG slice of one. Lives in the shared file; only `fault` changes after creation.
struct Unit {
  char uuid[48];
  char name[96];
  char type[32];
  std::uint64_t memory;
  std::int32_t watts;
  std::int32_t bus;     // PCI bus number, ascending with the index
  std::int32_t gpu;     // the unit of the GPU that this is or belongs to
  std::int32_t slice;   // number among the GPU's slices; -1 for a GPU itself
  std::int32_t slices;  // of a GPU: how many follow it in the table
  Fault fault;          // of a GPU
};

// What one process holds on one unit. Free when `pid` is 0, which is written last on taking and
// first on leaving: whoever is killed in between leaves the table whole.
struct Holding {
  std::int32_t pid;
  std::int32_t unit;
  std::uint64_t start_time;
  std::uint64_t bytes;
  std::uint64_t checked_at;  // monotonic, when pid and start time were last compared
  std::uint32_t demand;      // percent of the unit that it would use if alone
};

// The shared file. Mapped by every process that uses the GPUs; all but the part before `lock` is
// touched only through LockedGpus.
struct GpuFile {
  char magic[16];
  std::uint32_t version;
  std::uint32_t size;
  char boot[40];  // a lock held over a reboot would be held for ever
  char spec[512];
  pthread_mutex_t lock;
  std::int32_t failure;  // what every NVML call returns; 0 when it works
  std::int32_t unit_count;
  std::int32_t holding_limit;  // no holding at or after this one was ever used
  Unit units[kMaxUnits];
  Holding holdings[kMaxHoldings];
};

// The file while this thread has its lock: proof that its holder may read and write. A process that
// dies with the lock passes it on. Not ok() when the holder neither runs nor dies.
class LockedGpus {
 public:
  explicit LockedGpus(GpuFile& file);
  ~LockedGpus();
  LockedGpus(const LockedGpus&) = delete;
  LockedGpus& operator=(const LockedGpus&) = delete;

  bool ok() const { return locked_; }
  GpuFile* operator->() { return &file_; }
  GpuFile& operator*() { return file_; }

 private:
  GpuFile& file_;
  bool locked_;
};

// Creates the file, or keeps an equal one; see tutti_emulator_create.
Result<void> create_gpu_file(const std::string& path, std::string_view spec);

// Maps the file. The mapping is never undone: handles and other threads may use it to the end.
Result<GpuFile*> open_gpu_file(const std::string& path);

// The file that TUTTI_EMULATED_GPUS names, mapped once and again when another one is in its place.
Result<GpuFile*> current_gpu_file();

}  // namespace tutti::emulator
