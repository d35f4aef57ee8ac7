#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/nvml_source.h"
#include "telemetry/shared_library.h"
#include "tests/support/fake_nvml.h"

namespace tutti {
namespace {

using testing::HasSubstr;

constexpr unsigned long long kMib = 1ULL << 20;

// A driver of which every answer can be chosen.
class OddDriver : public testing::Test {
 protected:
  void use(const char* path) {
    library_ = std::make_unique<SharedLibrary>(*SharedLibrary::open(path));
    world_ = static_cast<FakeNvmlWorld*>(library_->find("fake_nvml_world"));
    *world_ = {};
    world_->count = 1;
    world_->total = 16384 * kMib;
    path_ = path;
  }
  void SetUp() override { use(FAKE_NVML); }

  void open() {
    auto opened = NvmlSource::open(path_, [this] { return now_; });
    ASSERT_TRUE(opened) << opened.error().message;
    source_ = std::move(*opened);
  }
  std::vector<GpuReading> read() {
    if (source_ == nullptr) open();
    auto readings = source_->read();
    EXPECT_TRUE(readings) << readings.error().message;
    return readings ? *readings : std::vector<GpuReading>{};
  }

  std::int64_t now_ = 1000000;
  std::string path_;
  std::unique_ptr<SharedLibrary> library_;
  FakeNvmlWorld* world_ = nullptr;
  std::unique_ptr<NvmlSource> source_;
};

TEST_F(OddDriver, a_library_that_is_not_there_is_named) {
  const auto opened = NvmlSource::open("/nonexistent/libnvidia-ml.so.1");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(opened.error().message, HasSubstr("/nonexistent/libnvidia-ml.so.1"));
}

TEST_F(OddDriver, another_library_is_refused) {
  const auto opened = NvmlSource::open(FAKE_ROCM_SMI);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(opened.error().message, HasSubstr("lacks functions"));
}

TEST_F(OddDriver, no_driver_means_that_there_is_nothing_to_ask) {
  world_->init_code = 9;
  const auto opened = NvmlSource::open(FAKE_NVML);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(opened.error().message, "no NVIDIA driver is loaded (NVML: Driver Not Loaded, code 9)");
}

TEST_F(OddDriver, initialising_is_tried_again_every_five_seconds) {
  world_->init_code = 999;
  open();
  EXPECT_FALSE(source_->read());
  now_ += 4999999;
  EXPECT_FALSE(source_->read());
  EXPECT_EQ(world_->init_calls, 1);
  now_ += 1;
  EXPECT_FALSE(source_->read());
  EXPECT_FALSE(source_->read());
  EXPECT_EQ(world_->init_calls, 2);
  world_->init_code = 0;
  now_ += 5000000;
  EXPECT_EQ(read().size(), 1U);
  EXPECT_EQ(world_->init_calls, 3);
}

TEST_F(OddDriver, calls_that_fail_start_the_library_anew) {
  EXPECT_EQ(read().size(), 1U);
  world_->count_code = 1;
  EXPECT_FALSE(source_->read());
  now_ += 5000000;
  EXPECT_FALSE(source_->read());
  EXPECT_EQ(world_->init_calls, 2);
  EXPECT_EQ(world_->shutdown_calls, 1);
  world_->count_code = 0;
  EXPECT_EQ(read().size(), 1U);
}

TEST_F(OddDriver, an_absurd_number_of_gpus_is_an_error) {
  world_->count = 4000000000U;
  open();
  EXPECT_FALSE(source_->read());
}

TEST_F(OddDriver, a_name_without_end_is_cut_and_cleaned) {
  const auto gpus = read();
  EXPECT_TRUE(gpus[0].name.starts_with("NVIDIA T4 x"));
  EXPECT_LT(gpus[0].name.size(), 100U);
}

TEST_F(OddDriver, a_process_in_both_lists_counts_once) {
  world_->listed = 2;
  world_->memory[0] = 100 * kMib;
  world_->memory[1] = 200 * kMib;
  const auto gpus = read();
  ASSERT_EQ(gpus[0].processes.size(), 2U);
  EXPECT_EQ(gpus[0].processes[0].memory, MiB(100));
  EXPECT_EQ(gpus[0].processes[1].memory, MiB(200));
}

TEST_F(OddDriver, memory_that_is_not_told_is_what_nobody_else_uses) {
  world_->used = 1000 * kMib;
  world_->listed = 2;
  world_->memory[0] = 100 * kMib;
  world_->memory[1] = ~0ULL;
  EXPECT_EQ(read()[0].processes[1].memory, MiB(900));
}

TEST_F(OddDriver, more_processes_than_expected_are_all_seen) {
  world_->listed = 300;
  EXPECT_EQ(read()[0].processes.size(), 300U);
}

TEST_F(OddDriver, a_list_that_claims_to_be_endless_is_left_out) {
  world_->listed = 65;
  world_->listed_told = 4000000000U;
  EXPECT_TRUE(read()[0].processes.empty());
}

TEST_F(OddDriver, a_list_that_claims_more_than_there_was_room_is_cut) {
  world_->listed = 3;
  world_->listed_told = 4000000000U;
  EXPECT_LE(read()[0].processes.size(), 64U);
}

TEST_F(OddDriver, the_newest_sample_of_a_process_counts_and_garbage_does_not) {
  world_->listed = 2;
  world_->samples = 4;
  const unsigned pids[] = {100, 100, 101, 0};
  const unsigned percents[] = {70, 20, 4000000, 99};
  const unsigned long long times[] = {10, 9, 11, 12};
  for (int i = 0; i < 4; ++i) {
    world_->sample_pids[i] = pids[i];
    world_->sample_percents[i] = percents[i];
    world_->sample_times[i] = times[i];
  }
  const auto gpus = read();
  EXPECT_EQ(gpus[0].processes[0].utilization, MilliGpu(700));
  EXPECT_EQ(gpus[0].processes[1].utilization, MilliGpu(0));
}

TEST_F(OddDriver, a_sample_holds_until_it_is_old) {
  world_->listed = 1;
  world_->samples = 1;
  world_->sample_pids[0] = 100;
  world_->sample_percents[0] = 50;
  world_->sample_times[0] = 7;
  EXPECT_EQ(read()[0].processes[0].utilization, MilliGpu(500));
  now_ += 100000;
  EXPECT_EQ(read()[0].processes[0].utilization, MilliGpu(500));  // no newer one: the same
  now_ += 3000000;
  EXPECT_EQ(read()[0].processes[0].utilization, MilliGpu(0));
}

TEST_F(OddDriver, without_samples_utilisation_is_shared_by_memory) {
  world_->samples_code = 3;
  world_->utilization = 80;
  world_->listed = 2;
  world_->memory[0] = 100 * kMib;
  world_->memory[1] = 300 * kMib;
  const auto gpus = read();
  EXPECT_EQ(gpus[0].processes[0].utilization, MilliGpu(200));
  EXPECT_EQ(gpus[0].processes[1].utilization, MilliGpu(600));
}

TEST_F(OddDriver, rows_of_memory_that_cannot_be_replaced_are_trouble) {
  world_->rows_pending = 1;
  EXPECT_THAT(read()[0].trouble, HasSubstr("wait to be remapped"));
  world_->rows_failed = 1;
  now_ += 1000000;
  EXPECT_THAT(read()[0].trouble, HasSubstr("replace the GPU"));
}

TEST_F(OddDriver, a_gpu_that_no_longer_says_who_it_is_keeps_its_name) {
  world_->count = 2;
  EXPECT_EQ(read().size(), 2U);
  world_->uuid_codes[1] = 15;
  world_->device_codes[1] = 15;
  now_ += 60000000;
  const auto gpus = read();
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[1].uuid, "GPU-1");
  EXPECT_THAT(gpus[1].trouble, HasSubstr("fell off the bus (NVML: GPU is lost"));
  EXPECT_EQ(gpus[0].trouble, "");
}

TEST_F(OddDriver, a_gpu_that_needs_a_reset_says_so) {
  EXPECT_EQ(read()[0].trouble, "");
  world_->device_codes[0] = 16;
  EXPECT_THAT(read()[0].trouble, HasSubstr("needs a reset"));
}

TEST_F(OddDriver, a_driver_of_long_ago_is_read_as_far_as_it_tells) {
  use(FAKE_NVML_OLD);
  world_->used = 700 * kMib;
  world_->listed = 1;
  world_->memory[0] = 300 * kMib;
  const auto gpus = read();
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].uuid, "GPU-0");
  EXPECT_EQ(gpus[0].name, "NVIDIA GPU");
  EXPECT_EQ(gpus[0].used, MiB(700));
  EXPECT_EQ(gpus[0].trouble, "");
  EXPECT_FALSE(gpus[0].emulated);
  ASSERT_EQ(gpus[0].processes.size(), 1U);
  EXPECT_EQ(gpus[0].processes[0].memory, MiB(300));
}

}  // namespace
}  // namespace tutti
