#include "core/spec/gpu_type.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

struct TypeCase {
  const char* name;
  std::int64_t mib;
  const char* type;
};

TEST(GpuType, names_of_the_vendors_become_short_types) {
  const TypeCase cases[] = {
      {"NVIDIA A100-SXM4-80GB", 81920, "A100-80G"},
      {"NVIDIA A100-SXM4-80GB", 81251, "A100-80G"},
      {"NVIDIA A100-SXM4-40GB", 40537, "A100-40G"},
      {"NVIDIA A100 80GB PCIe", 81920, "A100-80G"},
      {"NVIDIA GeForce RTX 3090", 24576, "RTX3090-24G"},
      {"NVIDIA GeForce RTX 3080 Ti", 12288, "RTX3080Ti-12G"},
      {"GeForce RTX 2080 Ti", 11016, "RTX2080Ti-11G"},
      {"Tesla V100-SXM2-16GB", 16160, "V100-16G"},
      {"Tesla V100-SXM2-32GB", 32510, "V100-32G"},
      {"Tesla T4", 15109, "T4-16G"},
      {"NVIDIA L4", 23034, "L4-24G"},
      {"NVIDIA L40S", 46068, "L40S-48G"},
      {"NVIDIA A10", 23028, "A10-24G"},
      {"NVIDIA H100 80GB HBM3", 81559, "H100-80G"},
      {"NVIDIA H100 NVL", 95830, "H100-94G"},
      {"NVIDIA H200", 143771, "H200-141G"},
      {"NVIDIA GH200 480GB", 97871, "GH200-96G"},
      {"NVIDIA RTX 6000 Ada Generation", 49140, "RTX6000Ada-48G"},
      {"NVIDIA TITAN X (Pascal)", 12196, "TITANXPascal-12G"},
      {"NVIDIA Foo 48 GB", 49152, "Foo-48G"},
      {"AMD Instinct MI250X", 131072, "MI250X-128G"},
      {"AMD INSTINCT MI250X (MCM) OAM AC MBA", 65520, "MI250X-64G"},
      {"AMD Instinct MI250X/MI250", 65520, "MI250X-64G"},
      {"Radeon RX 7900 XTX", 24560, "RX7900XTX-24G"},
  };
  for (const TypeCase& c : cases) EXPECT_EQ(type_of_gpu(c.name, MiB(c.mib)), c.type) << c.name;
}

TEST(GpuType, a_slice_is_not_called_like_the_whole) {
  EXPECT_EQ(type_of_gpu("NVIDIA A100-SXM4-40GB MIG 1g.5gb", MiB(4864)), "A100-MIG-5G");
  EXPECT_EQ(type_of_gpu("NVIDIA A100-SXM4-80GB MIG 2g.20gb", MiB(19968)), "A100-MIG-20G");
}

TEST(GpuType, a_name_of_nothing_but_dropped_words_keeps_them) {
  EXPECT_EQ(type_of_gpu("AMD Radeon Graphics", MiB(512)), "AMDRadeonGraphics-1G");
}

TEST(GpuType, no_name_and_no_memory_still_have_a_type) {
  EXPECT_EQ(type_of_gpu("", MiB(0)), "GPU");
  EXPECT_EQ(type_of_gpu("\n\t\"", MiB(-5)), "GPU");
}

TEST(GpuType, more_memory_than_any_known_size_is_rounded) {
  EXPECT_EQ(type_of_gpu("NVIDIA Z1", MiB(500 * 1024 + 300)), "Z1-500G");
}

TEST(GpuType, a_product_says_its_memory_or_does_not) {
  EXPECT_EQ(type_of_product("NVIDIA-A100-SXM4-80GB"), "A100-80G");
  EXPECT_EQ(type_of_product("NVIDIA H100 80GB HBM3"), "H100-80G");
  EXPECT_EQ(type_of_product("Quadro-RTX-4000"), "RTX4000");
  EXPECT_EQ(type_of_product("A100-40G"), "A100-40G");
  EXPECT_EQ(type_of_product("A100"), "A100");
}

}  // namespace
}  // namespace tutti
