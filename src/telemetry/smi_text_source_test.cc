#include "telemetry/smi_text_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "telemetry/tool_output.h"

namespace tutti {
namespace {

using testing::HasSubstr;

// Programs that write what a test wants, in a folder of their own.
class Tools : public testing::Test {
 protected:
  Tools() {
    std::string folder = std::filesystem::temp_directory_path() / "tutti-tools-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~Tools() override { std::filesystem::remove_all(folder_); }

  std::string tool(const std::string& name, const std::string& script) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script;
    chmod(path.c_str(), 0700);
    return path;
  }

  std::int64_t now_ = 1000000;
  std::string folder_;
};

constexpr char kNvidia[] = R"sh(
case "$1" in
  --query-gpu=*) echo "0, GPU-a, Tesla T4, 00000000:01:00.0, 15360, 500, 50, 0, $(cat "$0.heat")";;
  --query-compute-apps=*) echo "71, GPU-a, 300"; echo "72, GPU-a, 100"; echo "73, GPU-b, 100";;
esac
)sh";

TEST_F(Tools, nvidia_smi_is_read_with_its_processes) {
  const std::string path = tool("nvidia-smi", kNvidia);
  std::ofstream(path + ".heat") << 40;
  const auto source = make_nvidia_smi_source(path, [this] { return now_; });
  const auto gpus = source->read();
  ASSERT_TRUE(gpus) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 1U);
  ASSERT_EQ((*gpus)[0].processes.size(), 2U);
  EXPECT_EQ((*gpus)[0].processes[0].utilization, MilliGpu(375));
  EXPECT_EQ((*gpus)[0].trouble, "");
}

TEST_F(Tools, heat_is_trouble_when_it_lasts) {
  const std::string path = tool("nvidia-smi", kNvidia);
  std::ofstream(path + ".heat") << 99;
  const auto source = make_nvidia_smi_source(path, [this] { return now_; });
  for (int i = 0; i < 2; ++i, now_ += 2000000) EXPECT_EQ((*source->read())[0].trouble, "");
  EXPECT_THAT((*source->read())[0].trouble, HasSubstr("too hot (99"));
}

TEST_F(Tools, a_reading_is_used_again_for_a_while) {
  const std::string path = tool("nvidia-smi", "echo run >> \"$0.runs\"; exit 9\n");
  const auto source = make_nvidia_smi_source(path, [this] { return now_; });
  const auto runs = [&] { return std::filesystem::file_size(path + ".runs") / 4; };
  EXPECT_FALSE(source->read());
  now_ += 1999999;
  EXPECT_FALSE(source->read());
  EXPECT_EQ(runs(), 1U);
  now_ += 1;
  EXPECT_FALSE(source->read());
  EXPECT_EQ(runs(), 2U);
}

TEST_F(Tools, nvidia_smi_without_a_driver_says_so) {
  const auto source =
      make_nvidia_smi_source(tool("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9\n"));
  const auto gpus = source->read();
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().message,
            "no NVIDIA driver is loaded (nvidia-smi ended with code 9: NVIDIA-SMI has failed)");
}

TEST_F(Tools, rocm_smi_is_read_with_its_processes) {
  const auto source = make_rocm_smi_source(tool("rocm-smi", R"sh(
case "$*" in
  *--json*) echo '{"card0": {"VRAM Total Memory (B)": "68702699520", "GPU use (%)": "10",
                   "VRAM Total Used Memory (B)": "1048576000", "Card series": "MI210"}}';;
  *) printf 'PID\tNAME\tGPU(s)\tVRAM\tSDMA\tCU\n71\tpython3\t1\t104857600\t0\t0\n'
     printf 'PID 71 is using 1 DRM device(s):\n0 \n';;
esac
)sh"));
  const auto gpus = source->read();
  ASSERT_TRUE(gpus) << gpus.error().message;
  ASSERT_EQ((*gpus)[0].processes.size(), 1U);
  EXPECT_EQ((*gpus)[0].processes[0].memory, MiB(100));
}

TEST_F(Tools, rocm_smi_that_fails_says_so) {
  const auto gpus = make_rocm_smi_source(tool("rocm-smi", "echo no driver; exit 2\n"))->read();
  ASSERT_FALSE(gpus);
  EXPECT_THAT(gpus.error().message, HasSubstr("ended with code 2: no driver)"));
}

TEST_F(Tools, find_gpus_falls_back_to_the_tools) {
  GpuSearch search{"/nonexistent", "/nonexistent", tool("nvidia-smi", kNvidia), "/nonexistent"};
  std::ofstream(search.nvidia_smi + ".heat") << 40;
  const FoundGpus found = find_gpus(search);
  ASSERT_EQ(found.sources.size(), 1U);
  EXPECT_STREQ(found.sources[0]->name(), "nvidia-smi");
  ASSERT_EQ(found.notes.size(), 4U);
  EXPECT_THAT(found.notes[0], HasSubstr("nvml: not used: cannot open /nonexistent"));
  EXPECT_EQ(found.notes[2], "nvidia-smi: used for 1 GPU");
}

TEST_F(Tools, nothing_at_all_is_explained) {
  const FoundGpus found =
      find_gpus({"/nonexistent", "/nonexistent", "/nonexistent", "/nonexistent"});
  EXPECT_TRUE(found.sources.empty());
  EXPECT_EQ(found.notes.size(), 4U);
}

TEST_F(Tools, a_tool_that_does_not_end_is_killed_with_its_children) {
  const std::string path = tool("slow", "sleep 1000 & echo $! > \"$0.pid\"; wait\n");
  const auto output = run_tool(path, {}, {milliseconds(300), 1000});
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::kTimeout);
  pid_t child = 0;
  std::ifstream(path + ".pid") >> child;
  ASSERT_GT(child, 0);
  // Whoever adopts it reaps it; until then it is a zombie, which has no command line.
  const auto running = [&] {
    std::ifstream file("/proc/" + std::to_string(child) + "/cmdline");
    return file.get() != std::ifstream::traits_type::eof();
  };
  const std::int64_t deadline = monotonic_us() + 10000000;
  while (running() && monotonic_us() < deadline) {
  }
  EXPECT_FALSE(running());
}

TEST_F(Tools, a_tool_that_closes_its_output_and_stays_is_killed) {
  const auto output =
      run_tool(tool("silent", "exec >&-; sleep 1000\n"), {}, {milliseconds(200), 1000});
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::kTimeout);
}

TEST_F(Tools, a_tool_that_writes_without_end_is_killed) {
  const auto output = run_tool(tool("endless", "yes\n"), {}, {seconds(60), 10000});
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::kExhausted);
}

TEST_F(Tools, arguments_reach_the_tool_as_they_are) {
  const auto output = run_tool(tool("echo", "printf '<%s>' \"$@\"\n"), {"a b", "$(x)", "'"});
  ASSERT_TRUE(output);
  EXPECT_EQ(output->text, "<a b><$(x)><'>");
  EXPECT_EQ(output->exit_code, 0);
}

TEST_F(Tools, a_signal_is_an_exit_code) {
  EXPECT_EQ(run_tool(tool("dies", "kill -9 $$\n"), {})->exit_code, 137);
}

}  // namespace
}  // namespace tutti
