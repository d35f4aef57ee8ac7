#include "telemetry/nvidia_smi_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/process_shares.h"

namespace tutti {
namespace {

using testing::HasSubstr;

TEST(NvidiaSmiText, gpus_are_read_and_ordered_by_the_bus) {
  const auto gpus = parse_nvidia_smi_gpus(
      "0, GPU-aaaa, NVIDIA A100-SXM4-80GB, 00000000:C1:00.0, 81920, 1024, 37, 0, 41\n"
      "1, GPU-bbbb, NVIDIA GeForce RTX 3090, 00000000:07:00.0, 24576, 3, 0, [N/A], 30\n");
  ASSERT_TRUE(gpus) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 2U);
  const GpuReading& first = (*gpus)[0].reading;
  EXPECT_EQ(first.uuid, "GPU-bbbb");
  EXPECT_EQ(first.type, "RTX3090-24G");
  EXPECT_EQ(first.pci_bus, "00000000:07:00.0");
  const GpuReading& second = (*gpus)[1].reading;
  EXPECT_EQ(second.memory, MiB(81920));
  EXPECT_EQ(second.used, MiB(1024));
  EXPECT_EQ(second.utilization, MilliGpu(370));
  EXPECT_EQ((*gpus)[1].celsius, 41);
  EXPECT_EQ(second.trouble, "");
}

TEST(NvidiaSmiText, what_a_gpu_does_not_support_is_zero) {
  const auto gpus = parse_nvidia_smi_gpus(
      "0, GPU-a, GeForce GT 710, 00000000:01:00.0, 2000, [Not Supported], [N/A], N/A, [N/A]\r\n");
  ASSERT_TRUE(gpus);
  EXPECT_EQ((*gpus)[0].reading.used, MiB(0));
  EXPECT_EQ((*gpus)[0].celsius, -1);
  EXPECT_EQ((*gpus)[0].reading.trouble, "");
}

TEST(NvidiaSmiText, a_gpu_in_trouble_says_so) {
  const auto trouble = [](const std::string& used, const std::string& ecc) {
    const auto gpus = parse_nvidia_smi_gpus("0, GPU-a, Tesla T4, 00000000:01:00.0, 15360, " + used +
                                            ", 0, " + ecc + ", 40\n");
    return gpus ? (*gpus)[0].reading.trouble : gpus.error().message;
  };
  EXPECT_THAT(trouble("ERR!", "0"), HasSubstr("does not answer"));
  EXPECT_THAT(trouble("[GPU is lost]", "0"), HasSubstr("fell off the bus"));
  EXPECT_THAT(trouble("[GPU requires reset]", "0"), HasSubstr("needs a reset"));
  EXPECT_THAT(trouble("0", "3"), HasSubstr("3 uncorrectable memory error"));
}

TEST(NvidiaSmiText, lines_that_are_not_understood_are_errors_that_show_them) {
  const auto message = [](const char* text) {
    const auto gpus = parse_nvidia_smi_gpus(text);
    return gpus ? std::string("accepted") : gpus.error().message;
  };
  EXPECT_THAT(message("0, GPU-a\n"), HasSubstr("'0, GPU-a' has 2 fields, not 9"));
  EXPECT_THAT(message("0, x, T4, 0:1:0.0, 1, 1, 1, 1, 1\n"), HasSubstr("uuid is 'x'"));
  EXPECT_THAT(message("0, GPU-a, T4, 0:1:0.0, 1 MiB, 1, 1, 1, 1\n"), HasSubstr("'1 MiB'"));
  EXPECT_THAT(message("0, GPU-a, T4, 0:1:0.0, -1, 1, 1, 1, 1\n"), HasSubstr("'-1'"));
  EXPECT_THAT(message("0, GPU-a, T4, 0:1:0.0, 1, 1, 1, 1, 1\n0, GPU-a, T4, 0:1:0.0, 1, 1, 1, 1, 1"),
              HasSubstr("twice"));
}

TEST(NvidiaSmiText, no_gpus_and_no_processes_are_empty_lists) {
  EXPECT_TRUE(parse_nvidia_smi_gpus("")->empty());
  EXPECT_TRUE(parse_nvidia_smi_gpus("No devices were found\n")->empty());
  EXPECT_TRUE(parse_nvidia_smi_processes("\n")->empty());
}

TEST(NvidiaSmiText, processes_are_read) {
  const auto list = parse_nvidia_smi_processes("71, GPU-a, 300\n72, GPU-b, [N/A]\n");
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].process.pid, 71);
  EXPECT_EQ((*list)[0].process.memory, MiB(300));
  EXPECT_EQ((*list)[1].gpu_uuid, "GPU-b");
  EXPECT_EQ((*list)[1].process.memory, kMemoryNotTold);
  EXPECT_FALSE(parse_nvidia_smi_processes("x, GPU-a, 300\n"));
}

TEST(NvidiaSmiText, exit_codes_become_words) {
  const Error driver = nvidia_smi_failure(
      9, "\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nMore\n");
  EXPECT_EQ(driver.code, ErrorCode::kNotFound);
  EXPECT_EQ(driver.message,
            "no NVIDIA driver is loaded (nvidia-smi ended with code 9: NVIDIA-SMI has failed "
            "because it couldn't communicate with the NVIDIA driver.)");
  EXPECT_EQ(nvidia_smi_failure(12, "").code, ErrorCode::kNotFound);
  EXPECT_THAT(nvidia_smi_failure(12, "").message, HasSubstr("libnvidia-ml.so.1"));
  EXPECT_EQ(nvidia_smi_failure(255, "").code, ErrorCode::kUnavailable);
  EXPECT_THAT(nvidia_smi_failure(255, "").message, HasSubstr("code 255)"));
}

}  // namespace
}  // namespace tutti
