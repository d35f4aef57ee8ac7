#include "telemetry/rocm_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/shared_library.h"
#include "tests/support/fake_rocm_smi.h"

namespace tutti {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBytesPerMib = 1 << 20;

// Two MI210, the first of which stands later on the bus.
class RocmOnFake : public testing::Test {
 protected:
  RocmOnFake() : library_(*SharedLibrary::open(FAKE_ROCM_SMI)) {
    world_ = static_cast<FakeRocmWorld*>(library_.find("fake_rocm_world"));
    *world_ = {};
    world_->count = 2;
    world_->total = 65520 * kBytesPerMib;
    world_->unique_ids[0] = 0xabc;
    world_->unique_ids[1] = 0xdef0123456789abc;
    world_->pci_ids[0] = (0x43 << 8) | (1 << 3);
    world_->pci_ids[1] = 0x03 << 8;
  }
  std::vector<GpuReading> read() {
    if (source_ == nullptr) open();
    auto readings = source_->read();
    EXPECT_TRUE(readings) << readings.error().message;
    return readings ? *readings : std::vector<GpuReading>{};
  }
  void open() {
    auto opened = RocmSource::open(FAKE_ROCM_SMI, [this] { return now_; });
    ASSERT_TRUE(opened) << opened.error().message;
    source_ = std::move(*opened);
  }

  std::int64_t now_ = 1000000;
  SharedLibrary library_;
  FakeRocmWorld* world_ = nullptr;
  std::unique_ptr<RocmSource> source_;
};

TEST_F(RocmOnFake, gpus_are_found_in_the_order_of_the_bus) {
  const auto gpus = read();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].uuid, "GPU-def0123456789abc");
  EXPECT_EQ(gpus[0].pci_bus, "00000000:03:00.0");
  EXPECT_EQ(gpus[1].uuid, "GPU-0000000000000abc");
  EXPECT_EQ(gpus[1].pci_bus, "00000000:43:01.0");
  EXPECT_EQ(gpus[0].type, "MI210-64G");
  EXPECT_TRUE(gpus[0].amd);
  EXPECT_FALSE(gpus[0].emulated);
}

TEST_F(RocmOnFake, a_process_is_seen_on_each_of_its_gpus) {
  world_->used[0] = world_->used[1] = 500 * kBytesPerMib;
  world_->busy = 60;
  world_->processes = 2;
  world_->pids[0] = 71;
  world_->gpus_of[0] = 3;
  world_->vram_of[0] = 300 * kBytesPerMib;
  world_->pids[1] = 72;
  world_->gpus_of[1] = 1;
  world_->vram_of[1] = 100 * kBytesPerMib;
  const auto gpus = read();
  ASSERT_EQ(gpus[0].processes.size(), 1U);  // the second of the driver
  EXPECT_EQ(gpus[0].processes[0].pid, 71);
  EXPECT_EQ(gpus[0].processes[0].memory, MiB(300));
  EXPECT_EQ(gpus[0].processes[0].utilization, MilliGpu(600));
  ASSERT_EQ(gpus[1].processes.size(), 2U);
  EXPECT_EQ(gpus[1].processes[1].pid, 72);
  EXPECT_EQ(gpus[1].processes[1].utilization, MilliGpu(150));
}

TEST_F(RocmOnFake, a_gpu_without_a_number_is_known_by_its_place) {
  world_->unique_ids[0] = 0;
  EXPECT_EQ(read()[1].uuid, "PCI-00000000:43:01.0");
}

TEST_F(RocmOnFake, memory_errors_and_silence_are_trouble) {
  world_->used_codes[0] = 4;
  world_->uncorrected = 2;
  const auto gpus = read();
  EXPECT_THAT(gpus[0].trouble, HasSubstr("2 uncorrectable memory error"));
  EXPECT_THAT(gpus[1].trouble, HasSubstr("does not answer"));
}

TEST_F(RocmOnFake, a_failing_library_is_an_error_and_is_started_again) {
  world_->init_code = 8;
  open();
  ASSERT_FALSE(source_->read());
  EXPECT_THAT(source_->read().error().message, HasSubstr("initialisation error, code 8"));
  EXPECT_EQ(world_->init_calls, 1);
  world_->init_code = 0;
  now_ += 5000000;
  EXPECT_EQ(read().size(), 2U);
}

TEST_F(RocmOnFake, another_library_is_refused) {
  EXPECT_FALSE(RocmSource::open(FAKE_NVML));
}

TEST_F(RocmOnFake, find_gpus_uses_it) {
  GpuSearch search{"/nonexistent", FAKE_ROCM_SMI, "/nonexistent", "/nonexistent"};
  const FoundGpus found = find_gpus(search);
  ASSERT_EQ(found.sources.size(), 1U);
  EXPECT_STREQ(found.sources[0]->name(), "rocm");
}

}  // namespace
}  // namespace tutti
