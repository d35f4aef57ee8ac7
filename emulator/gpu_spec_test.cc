#include "emulator/gpu_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::emulator {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view spec) {
  const auto parsed = parse_gpu_spec(spec);
  return parsed ? "no error" : parsed.error().message;
}

TEST(GpuSpec, known_types_have_their_marketing_names) {
  const auto gpus = parse_gpu_spec("2xA100-80G,RTX3090-24G");
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 3u);
  EXPECT_EQ((*gpus)[1].name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ((*gpus)[2].name, "NVIDIA GeForce RTX 3090");
  EXPECT_EQ((*gpus)[2].memory_gib, 24);
}

TEST(GpuSpec, unknown_types_are_taken_as_written) {
  const auto gpus = parse_gpu_spec("Z9-Max-12G");
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->front().name, "NVIDIA Z9-Max 12 GB");
  EXPECT_EQ(gpus->front().memory_gib, 12);
}

TEST(GpuSpec, slices_are_counted_and_measured) {
  const auto gpus = parse_gpu_spec("A100-80G/mig3x20G");
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->front().slices, 3);
  EXPECT_EQ(gpus->front().slice_gib, 20);
}

TEST(GpuSpec, a_forgotten_memory_size_is_suggested) {
  EXPECT_THAT(error_of("4xA100"), HasSubstr("did you mean 'A100-80G'"));
}

TEST(GpuSpec, wrong_case_is_not_another_type) {
  EXPECT_THAT(error_of("a100-80G"), HasSubstr("did you mean 'A100-80G'"));
}

TEST(GpuSpec, an_error_says_where) {
  EXPECT_THAT(error_of("2xA100-80G,1yT4-16G"), HasSubstr("at character 12"));
}

TEST(GpuSpec, what_is_not_a_spec_is_refused) {
  for (const char* spec : {"",
                           ",",
                           "A100-80G,",
                           "0xA100-80G",
                           "65xA100-80G",
                           "x",
                           "4x",
                           "4",
                           "-1xA100-80G",
                           "A100-0G",
                           "A100-080G",
                           "A100-80",
                           "A100-80g",
                           "A1 0-80G",
                           "99999999999xA100-80G",
                           "40xA100-80G,40xA100-80G",
                           "A100-99999G",
                           "A100-80G/",
                           "A100-80G/mig",
                           "A100-80G/mig0x20G",
                           "A100-80G/mig8x1G",
                           "A100-80G/mig3x20",
                           "A100-80G/mig5x20G",
                           "A100-80G/mig3x20G/mig1x1G"}) {
    EXPECT_FALSE(parse_gpu_spec(spec)) << spec;
  }
}

}  // namespace
}  // namespace tutti::emulator
