#include "emulator/gpu_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>

#include "base/unique_fd.h"

namespace tutti::emulator {
namespace {

constexpr char kMagic[16] = "tutti-gpus";
constexpr std::uint32_t kVersion = 1;
constexpr int kLockSeconds = 10;

template <std::size_t N>
void set_text(char (&to)[N], std::string_view text) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

std::string boot_id() {
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[37] = {};
  if (!file || ::read(file.get(), text, 36) != 36) return "unknown";
  return text;
}

// A UUID that depends on nothing but its arguments, so that a GPU has the same one in every file.
std::string uuid_of(std::string_view prefix, std::string_view type, int gpu, int slice) {
  std::uint64_t state = 0xcbf29ce484222325u;
  const auto mix = [&](std::uint64_t value) {
    state = (state ^ value) * 0x100000001b3u;
    state ^= state >> 29;
  };
  for (const char c : type) mix(static_cast<unsigned char>(c));
  mix(static_cast<std::uint64_t>(gpu) + 1000);
  mix(static_cast<std::uint64_t>(slice) + 5000);
  std::uint64_t halves[2];
  for (std::uint64_t& half : halves) {
    for (std::uint64_t round = 0; round < 8; ++round) mix(round * 0x9e3779b97f4a7c15u);
    half = state;
  }
  char text[64];
  std::snprintf(
      text, sizeof text, "%.*s%08x-%04x-4%03x-a%03x-%04x%08x", static_cast<int>(prefix.size()),
      prefix.data(), static_cast<unsigned>(halves[0] >> 32),
      static_cast<unsigned>(halves[0] >> 16 & 0xffff), static_cast<unsigned>(halves[0] & 0xfff),
      static_cast<unsigned>(halves[1] >> 48 & 0xfff),
      static_cast<unsigned>(halves[1] >> 32 & 0xffff),
      static_cast<unsigned>(halves[1] & 0xffffffff));
  return text;
}

// NVIDIA names a slice by its eighths of the GPU; two halves are 3g, and the whole is 7g.
std::string slice_name(const GpuDescription& gpu) {
  const int eighths = std::max(1, gpu.slice_gib * 8 / gpu.memory_gib);
  const int compute = eighths == 8 ? 7 : eighths == 4 ? 3 : eighths;
  return gpu.name + " MIG " + std::to_string(compute) + "g." + std::to_string(gpu.slice_gib) + "gb";
}

void add_unit(GpuFile& file, const GpuDescription& gpu, int number, int gpu_unit, int slice) {
  Unit& unit = file.units[file.unit_count];
  const bool whole = slice < 0;
  set_text(unit.uuid, uuid_of(whole ? "GPU-" : "MIG-", gpu.type, number, slice));
  set_text(unit.name, whole ? gpu.name : slice_name(gpu));
  set_text(unit.type, gpu.type);
  unit.memory = static_cast<std::uint64_t>(whole ? gpu.memory_gib : gpu.slice_gib) << 30;
  unit.watts = gpu.watts;
  unit.bus = 7 + 3 * number;
  unit.gpu = gpu_unit;
  unit.slice = slice;
  unit.slices = whole ? gpu.slices : 0;
  unit.fault = Fault::kOk;
  ++file.unit_count;
}

int initialize_lock(pthread_mutex_t& lock) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int error = ::pthread_mutex_init(&lock, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  return error;
}

void fill(GpuFile& file, std::string_view spec, const std::vector<GpuDescription>& gpus) {
  std::memcpy(file.magic, kMagic, sizeof kMagic);
  file.version = kVersion;
  file.size = sizeof(GpuFile);
  set_text(file.boot, boot_id());
  set_text(file.spec, spec);
  for (int number = 0; number < static_cast<int>(gpus.size()); ++number) {
    const GpuDescription& gpu = gpus[static_cast<std::size_t>(number)];
    const int gpu_unit = file.unit_count;
    for (int slice = -1; slice < gpu.slices; ++slice) add_unit(file, gpu, number, gpu_unit, slice);
  }
}

Result<GpuFile*> map(int file, const std::string& path) {
  void* mapped = ::mmap(nullptr, sizeof(GpuFile), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return io_error("mapping emulated GPUs " + path, errno);
  return static_cast<GpuFile*>(mapped);
}

// The file is made under another name, so that nobody ever sees a half of one.
Result<void> write_new(const std::string& path, std::string_view spec,
                       const std::vector<GpuDescription>& gpus) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return io_error("creating emulated GPUs " + path, errno);
  const auto fail = [&](Error error) {
    ::unlink(temporary.c_str());
    return error;
  };
  // Real blocks: writing into a hole on a full disk would end a process with SIGBUS.
  if (const int error = ::posix_fallocate(file.get(), 0, sizeof(GpuFile)))
    return fail(io_error("creating emulated GPUs " + path, error));
  auto mapped = map(file.get(), path);
  if (!mapped) return fail(mapped.error());
  fill(**mapped, spec, gpus);
  const int lock_error = initialize_lock((*mapped)->lock);
  ::munmap(*mapped, sizeof(GpuFile));
  if (lock_error != 0) return fail(io_error("creating the lock of " + path, lock_error));
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return fail(io_error("creating emulated GPUs " + path, errno));
  return {};
}

bool is_ours(const GpuFile& file) {
  return std::memcmp(file.magic, kMagic, sizeof kMagic) == 0;
}

bool is_current(const GpuFile& file) {
  return file.version == kVersion && file.size == sizeof(GpuFile) && file.boot == boot_id();
}

Error not_ours(const std::string& path) {
  return invalid_input(path + " is not a file of emulated GPUs; name another path");
}

// 1: equal and usable, 0: to be replaced or not there.
Result<bool> can_be_kept(const std::string& path, std::string_view spec) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return io_error("looking at " + path, errno);
  }
  if (!S_ISREG(status.st_mode)) return not_ours(path);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return io_error("opening " + path, errno);
  char head[sizeof(GpuFile::magic)] = {};
  if (::read(file.get(), head, sizeof head) != sizeof head ||
      std::memcmp(head, kMagic, sizeof kMagic) != 0)
    return not_ours(path);
  auto opened = open_gpu_file(path);
  if (!opened) return false;
  const bool equal = (*opened)->spec == spec;
  ::munmap(*opened, sizeof(GpuFile));
  return equal;
}

}  // namespace

LockedGpus::LockedGpus(GpuFile& file) : file_(file) {
  // Nearly always free. The thread sanitizer knows of locks that dead processes leave only here,
  // not in the timed call.
  int error = ::pthread_mutex_trylock(&file_.lock);
  if (error == EBUSY) {
    timespec deadline{};
    ::clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += kLockSeconds;
    error = ::pthread_mutex_timedlock(&file_.lock, &deadline);
  }
  if (error == EOWNERDEAD) error = ::pthread_mutex_consistent(&file_.lock);
  locked_ = error == 0;
}

LockedGpus::~LockedGpus() {
  if (locked_) ::pthread_mutex_unlock(&file_.lock);
}

Result<void> create_gpu_file(const std::string& path, std::string_view spec) {
  const auto gpus = parse_gpu_spec(spec);
  if (!gpus) return gpus.error();
  const auto kept = can_be_kept(path, spec);
  if (!kept) return kept.error();
  if (*kept) return {};
  return write_new(path, spec, *gpus);
}

Result<GpuFile*> open_gpu_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return io_error("opening emulated GPUs " + path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error("looking at " + path, errno);
  if (!S_ISREG(status.st_mode) || status.st_size < static_cast<off_t>(sizeof(GpuFile)))
    return not_ours(path);
  auto mapped = map(file.get(), path);
  if (!mapped) return mapped;
  const bool ours = is_ours(**mapped);
  if (ours && is_current(**mapped)) return mapped;
  ::munmap(*mapped, sizeof(GpuFile));
  if (!ours) return not_ours(path);
  return conflict(path + " is from another version or from before a reboot; create it again");
}

Result<GpuFile*> current_gpu_file() {
  static std::mutex mutex;
  static std::string known_path;
  static dev_t known_device;
  static ino_t known_inode;
  static GpuFile* known = nullptr;

  const char* path = std::getenv("TUTTI_EMULATED_GPUS");
  if (path == nullptr || *path == '\0')
    return invalid_input("TUTTI_EMULATED_GPUS is not set; it names the file of emulated GPUs");
  struct stat status {};
  if (::stat(path, &status) != 0)
    return io_error(std::string("opening emulated GPUs ") + path, errno);
  const std::lock_guard held(mutex);
  if (known != nullptr && known_path == path && known_device == status.st_dev &&
      known_inode == status.st_ino)
    return known;
  auto opened = open_gpu_file(path);
  if (!opened) return opened;
  known = *opened;
  known_path = path;
  known_device = status.st_dev;
  known_inode = status.st_ino;
  return known;
}

}  // namespace tutti::emulator
