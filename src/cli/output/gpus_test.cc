#include "cli/output/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output/profiles.h"
#include "cli/output/render.h"
#include "cli/output/text.h"
#include "cli/testing/fake.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr TimePoint kRenderedAt{1'800'000'000'000'000};

GpuView gpu_of(std::int64_t index, std::string type) {
  GpuView gpu;
  gpu.index = index;
  gpu.node = "box";
  gpu.type = std::move(type);
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.memory_mib = 81920;
  return gpu;
}

GpusView busy_gpus() {
  GpusView view;
  view.source = "nvml";
  GpuView first = gpu_of(0, "A100-80G");
  first.emulated = true;
  first.used_mib = 10240;
  first.reserved_mib = 20480;
  first.utilization = 0.37;
  first.holders = {{.job = 12, .task = 0, .lease = 0, .user = "ann", .measuring = false},
                   {.job = 14, .task = 3, .lease = 0, .user = "ann", .measuring = true},
                   {.job = 0, .task = 0, .lease = 13, .user = "bob", .measuring = false}};
  GpuView second = gpu_of(1, "T4");
  second.healthy = false;
  second.reason = "uncorrectable memory errors";
  second.foreign = {{99, "eve", "python \033[31mx.py"}};
  view.gpus = {first, second};
  return view;
}

TEST(RenderGpus, the_table_says_who_uses_what_and_what_is_wrong) {
  EXPECT_EQ(
      render_gpus(busy_gpus(), FakeScreen()),
      "ID  GPU                  USED  RESERVED  TOTAL  UTIL  STATE                        WHO\n"
      " 0  A100-80G (emulated)   10G       20G    80G   37%  ok                           "
      "12, 14.3 (measuring), lease 13\n"
      " 1  T4                      -         -    80G    0%  uncorrectable memory errors  "
      "eve: python \\x1b[31mx.py (pid 99)\n"
      "GPU 1 gets no work: uncorrectable memory errors\n");
}

TEST(RenderGpus, a_wide_terminal_shows_the_vendors_name_and_a_narrow_one_never_wraps) {
  FakeScreen screen;
  screen.columns = 140;
  EXPECT_THAT(render_gpus(busy_gpus(), screen), HasSubstr("NVIDIA A100-SXM4-80GB"));
  screen.columns = 100;
  GpusView view = busy_gpus();
  view.gpus[1].healthy = true;
  const std::string text = render_gpus(view, screen);
  EXPECT_THAT(text, Not(HasSubstr("NVIDIA")));
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LE(columns_of(text.substr(at, end - at)), 100u);
    at = end + 1;
  }
}

TEST(RenderGpus, several_machines_are_told_apart) {
  GpusView view = busy_gpus();
  EXPECT_THAT(render_gpus(view, FakeScreen()), Not(HasSubstr("NODE")));
  view.gpus[1].node = "other";
  EXPECT_THAT(render_gpus(view, FakeScreen()), HasSubstr("NODE"));
  EXPECT_THAT(render_gpus(view, FakeScreen()), HasSubstr("other"));
}

TEST(RenderGpus, without_gpus_it_says_why_and_how_to_try_it) {
  GpusView view;
  view.notes = {"NVML: libnvidia-ml.so.1 is not there"};
  EXPECT_EQ(render_gpus(view, FakeScreen()),
            "No GPUs were found.\n"
            "  - NVML: libnvidia-ml.so.1 is not there\n"
            "To try it without one: tutti daemon restart --emulate-gpus 4xA100-80G\n");
}

TEST(RenderGpus, trouble_is_told_below_the_table_and_without_one) {
  GpusView view;
  view.trouble = "NVML does not answer";
  EXPECT_EQ(render_gpus(view, FakeScreen()), "trouble: NVML does not answer\n");
  view.gpus = {gpu_of(0, "T4")};
  EXPECT_THAT(render_gpus(view, FakeScreen()), HasSubstr("-\ntrouble: NVML does not answer\n"));
}

TEST(RenderGpus, types_are_counted_and_emulated_ones_stay_apart) {
  EXPECT_EQ(count_types({}), "");
  EXPECT_EQ(count_types({{"A100-80G", true}, {"T4", false}, {"A100-80G", true}, {"T4", true}}),
            "2 × A100-80G (emulated), 1 × T4, 1 × T4 (emulated)");
}

TEST(RenderGpus, a_task_shows_what_it_was_granted_and_what_it_used) {
  TaskView task;
  task.label = 3;
  task.state = "failed";
  task.devices = {"0", "1"};
  EXPECT_EQ(render_task_gpus(task), "");
  EXPECT_THAT(render_task(12, task, FakeScreen(), kRenderedAt), HasSubstr("  devices    0, 1\n"));
  task.gpus = {{0, 9600}, {1, 0}};
  task.gpu_peak_mib = 9000;
  task.gpu_utilization = 0.41;
  task.oom_retries = 2;
  task.ending = "gpu_out_of_memory";
  const std::string text = render_task(12, task, FakeScreen(), kRenderedAt);
  EXPECT_THAT(text, HasSubstr("  GPUs       0 with 9.3G, 1\n"
                              "  GPU use    peak 8.7G, 41% busy\n"
                              "  GPU memory ran out of it before, started again 2 times with more\n"
                              "  result     ran out of GPU memory\n"));
  EXPECT_THAT(text, Not(HasSubstr("devices")));
}

ProfileView profile_of(std::string kind) {
  ProfileView profile;
  profile.kind = std::move(kind);
  profile.samples = 12;
  profile.p50 = milliseconds(40'100);
  profile.p90 = seconds(44);
  profile.peak_memory_mib = 900;
  return profile;
}

GpuProfileView measured_on(std::string type, std::int64_t peak_mib, std::int64_t need_mib) {
  return {.type = std::move(type),
          .samples = 11,
          .peak_mib = peak_mib,
          .need_mib = need_mib,
          .utilization = 0.41,
          .preallocates = false};
}

TEST(RenderProfiles, each_further_type_of_gpu_has_a_row_of_its_own) {
  std::vector<ProfileView> profiles{profile_of("train.py::train"), profile_of("copy.sh")};
  profiles[0].gpus = {measured_on("A100-80G", 9000, 9600), measured_on("T4", 8000, 8800)};
  EXPECT_EQ(render_profiles(profiles, FakeScreen()),
            "KIND             RUNS  P50  P90  MEMORY  GPU       PEAK  NEED  UTIL\n"
            "train.py::train    12  40s  44s    900M  A100-80G  8.7G  9.3G   41%\n"
            "                                         T4        7.8G  8.5G   41%\n"
            "copy.sh            12  40s  44s    900M  -            -     -     -\n");
}

TEST(RenderProfiles, one_kind_says_what_it_means_for_the_next_run) {
  ProfileView profile = profile_of("train.py");
  profile.gpus = {measured_on("A100-80G", 9000, 9600), measured_on("T4", 8000, 8800),
                  measured_on("2xT4", 0, 3072)};
  EXPECT_EQ(render_profile(profile, FakeScreen()),
            "Kind train.py\n"
            "  runs       12\n"
            "  time       half of them within 40s, 9 of 10 within 44s\n"
            "  memory     peak 900M\n"
            "  GPU        A100-80G: 11 runs, peak 8.7G, 41% busy\n"
            "  GPU        T4: 11 runs, peak 7.8G, 41% busy\n"
            "  GPU        2xT4: 11 runs, peak -, 41% busy\n"
            "The next run reserves 9.3G on an A100-80G.\n"
            "The next run reserves 8.5G on a T4.\n"
            "The next run reserves 3G on each of 2xT4.\n");
}

TEST(RenderProfiles, a_kind_that_was_not_measured_on_a_gpu_says_so) {
  EXPECT_THAT(render_profile(profile_of("x"), FakeScreen()),
              HasSubstr("No run on a GPU was measured yet"));
}

TEST(RenderProfiles, a_kind_that_takes_all_memory_gets_the_line_that_fixes_it) {
  ProfileView profile = profile_of("my train.py");
  profile.gpus = {measured_on("A100-80G", 80000, 81920)};
  EXPECT_THAT(render_profile(profile, FakeScreen()), Not(HasSubstr("PREALLOCATE")));
  profile.gpus[0].preallocates = true;
  const std::string text = render_profile(profile, FakeScreen());
  EXPECT_THAT(text, HasSubstr("--env XLA_PYTHON_CLIENT_PREALLOCATE=false"));
  EXPECT_THAT(text, HasSubstr("--env TF_FORCE_GPU_ALLOW_GROWTH=true"));
  EXPECT_THAT(text, HasSubstr("tutti profile forget 'my train.py'\n"));
}

}  // namespace
}  // namespace tutti
