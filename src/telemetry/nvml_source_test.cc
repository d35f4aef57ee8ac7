#include "telemetry/nvml_source.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#ifdef NVML_EMULATOR

namespace tutti {
namespace {

using testing::HasSubstr;

constexpr unsigned long long kGib = 1ULL << 30;

// Emulated GPUs in a file of their own, and a source that reads them by a clock of its own.
class NvmlOnEmulator : public testing::Test {
 protected:
  NvmlOnEmulator() {
    std::string folder = std::filesystem::temp_directory_path() / "tutti-nvml-XXXXXX";
    folder_ = mkdtemp(folder.data());
    setenv("TUTTI_EMULATED_GPUS", (folder_ + "/gpus").c_str(), 1);
    library_ = dlopen(NVML_EMULATOR, RTLD_NOW | RTLD_LOCAL);
  }
  ~NvmlOnEmulator() override {
    source_.reset();
    std::filesystem::remove_all(folder_);
    unsetenv("TUTTI_EMULATED_GPUS");
  }

  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) {
    return reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name))(arguments...);
  }

  void start(const char* spec) {
    char error[200] = "";
    const std::string path = folder_ + "/gpus";
    ASSERT_EQ(
        call("tutti_emulator_create", path.c_str(), spec, static_cast<char*>(error), sizeof error),
        0)
        << error;
    auto opened = NvmlSource::open(NVML_EMULATOR, [this] { return now_; });
    ASSERT_TRUE(opened) << opened.error().message;
    source_ = std::move(*opened);
  }
  std::vector<GpuReading> read() {
    auto readings = source_->read();
    EXPECT_TRUE(readings) << readings.error().message;
    return readings ? *readings : std::vector<GpuReading>{};
  }
  void set_fault(const char* device, const char* fault) {
    ASSERT_EQ(call("tutti_emulator_set_fault", device, fault), 0);
  }

  std::int64_t now_ = 1000000;
  std::string folder_;
  void* library_ = nullptr;
  std::unique_ptr<NvmlSource> source_;
};

TEST_F(NvmlOnEmulator, gpus_are_found_in_the_order_of_the_bus) {
  start("2xA100-80G,1xRTX3090-24G");
  const auto gpus = read();
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].type, "A100-80G");
  EXPECT_EQ(gpus[2].type, "RTX3090-24G");
  EXPECT_EQ(gpus[2].memory, MiB(24576));
  EXPECT_LT(gpus[0].pci_bus, gpus[1].pci_bus);
  EXPECT_LT(gpus[1].pci_bus, gpus[2].pci_bus);
  EXPECT_TRUE(gpus[0].uuid.starts_with("GPU-"));
  EXPECT_NE(gpus[0].uuid, gpus[1].uuid);
  EXPECT_TRUE(gpus[0].emulated);
  EXPECT_FALSE(gpus[0].amd);
  EXPECT_EQ(gpus[0].trouble, "");
  EXPECT_TRUE(gpus[0].processes.empty());
}

TEST_F(NvmlOnEmulator, a_process_is_seen_with_its_memory_and_utilisation) {
  start("2xA100-80G");
  ASSERT_EQ(call("tutti_emulator_allocate", "1", 10 * kGib), 0);
  ASSERT_EQ(call("tutti_emulator_set_utilization", "1", 40U), 0);
  const auto gpus = read();
  EXPECT_TRUE(gpus[0].processes.empty());
  ASSERT_EQ(gpus[1].processes.size(), 1U);
  EXPECT_EQ(gpus[1].processes[0].pid, getpid());
  EXPECT_EQ(gpus[1].processes[0].memory, MiB(10240));
  EXPECT_EQ(gpus[1].processes[0].utilization, MilliGpu(400));
  EXPECT_EQ(gpus[1].utilization, MilliGpu(400));
  EXPECT_GE(gpus[1].used, MiB(10240));
}

TEST_F(NvmlOnEmulator, memory_of_a_killed_process_is_gone) {
  start("1xT4-16G");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int failed = call("tutti_emulator_allocate", "0", kGib);
    if (write(ready[1], failed == 0 ? "+" : "-", 1) != 1) _exit(1);
    while (true) pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ASSERT_EQ(told, '+');
  ASSERT_EQ(read()[0].processes.size(), 1U);
  EXPECT_EQ(read()[0].processes[0].pid, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(read()[0].processes.empty());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(NvmlOnEmulator, slices_stand_for_their_gpu) {
  start("A100-80G/mig3x20G,T4-16G");
  const auto gpus = read();
  ASSERT_EQ(gpus.size(), 4U);
  EXPECT_TRUE(gpus[0].uuid.starts_with("MIG-"));
  EXPECT_EQ(gpus[0].type, "A100-MIG-20G");
  EXPECT_NE(gpus[0].uuid, gpus[1].uuid);
  EXPECT_EQ(gpus[3].type, "T4-16G");
}

TEST_F(NvmlOnEmulator, memory_on_a_slice_is_not_seen_on_its_neighbours) {
  start("A100-80G/mig3x20G");
  const std::string second = read()[1].uuid;
  ASSERT_EQ(call("tutti_emulator_allocate", second.c_str(), kGib), 0);
  const auto gpus = read();
  EXPECT_TRUE(gpus[0].processes.empty());
  ASSERT_EQ(gpus[1].processes.size(), 1U);
  EXPECT_EQ(gpus[1].processes[0].memory, MiB(1024));
}

TEST_F(NvmlOnEmulator, a_lost_gpu_stays_known_and_says_so_until_it_is_back) {
  start("2xA100-80G");
  const std::string uuid = read()[0].uuid;
  set_fault("0", "lost");
  EXPECT_THAT(read()[0].trouble, HasSubstr("fell off the bus"));
  EXPECT_EQ(read()[1].trouble, "");
  now_ += 60000000;  // the list is made anew
  const auto later = read();
  ASSERT_EQ(later.size(), 2U);
  EXPECT_EQ(later[0].uuid, uuid);
  EXPECT_THAT(later[0].trouble, HasSubstr("fell off the bus"));
  set_fault("0", "ok");
  now_ += 2000000;
  EXPECT_EQ(read()[0].trouble, "");
}

TEST_F(NvmlOnEmulator, a_vanished_gpu_is_missing_and_the_others_are_not_mixed_up) {
  start("3xA100-80G");
  const auto before = read();
  set_fault("0", "vanished");
  const auto after = read();
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[0].uuid, before[1].uuid);
  EXPECT_EQ(after[1].uuid, before[2].uuid);
}

TEST_F(NvmlOnEmulator, memory_errors_are_trouble) {
  start("1xA100-80G");
  EXPECT_EQ(read()[0].trouble, "");
  set_fault("0", "ecc");
  now_ += 1000000;
  EXPECT_THAT(read()[0].trouble, HasSubstr("uncorrectable memory error"));
}

TEST_F(NvmlOnEmulator, heat_is_trouble_when_it_lasts) {
  start("1xA100-80G");
  set_fault("0", "hot");
  EXPECT_EQ(read()[0].trouble, "");
  EXPECT_EQ(read()[0].trouble, "");
  EXPECT_THAT(read()[0].trouble, HasSubstr("too hot"));
  set_fault("0", "ok");
  for (int i = 0; i < 9; ++i) EXPECT_THAT(read()[0].trouble, HasSubstr("too hot"));
  EXPECT_EQ(read()[0].trouble, "");
}

TEST_F(NvmlOnEmulator, a_failing_library_is_an_error_and_works_again_when_it_does) {
  start("1xA100-80G");
  ASSERT_EQ(call("tutti_emulator_fail", 999), 0);
  const auto failed = source_->read();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(failed.error().message, HasSubstr("999"));
  now_ += 5000000;
  EXPECT_FALSE(source_->read());  // initialising fails too
  ASSERT_EQ(call("tutti_emulator_fail", 0), 0);
  now_ += 5000000;
  EXPECT_EQ(read().size(), 1U);
}

TEST_F(NvmlOnEmulator, find_gpus_takes_nvml_first) {
  start("2xA100-80G");
  GpuSearch search;
  search.nvml_library = NVML_EMULATOR;
  search.rocm_library = search.nvidia_smi = search.rocm_smi = "/nonexistent";
  const FoundGpus found = find_gpus(search);
  ASSERT_EQ(found.sources.size(), 1U);
  EXPECT_STREQ(found.sources[0]->name(), "nvml");
  ASSERT_EQ(found.notes.size(), 4U);
  EXPECT_EQ(found.notes[0], "nvml: used for 2 GPUs");
  EXPECT_THAT(found.notes[1], HasSubstr("rocm: not used: cannot open /nonexistent"));
  EXPECT_EQ(found.notes[2], "nvidia-smi: not needed: nvml is used");
  EXPECT_EQ(found.notes[3], "rocm-smi: not used: /nonexistent is not installed");
}

}  // namespace
}  // namespace tutti

#endif
