#include "core/spec/rank_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/spec/launch.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobSpec ray_cluster(std::uint32_t workers) {
  JobSpec spec;
  spec.command.argv = {"python", "train.py", "$(touch x) 'a b'"};
  spec.gang.framework = Framework::kRay;
  spec.gang.workers.resize(2);
  spec.gang.workers[0].name = "Head";
  spec.gang.workers[1].name = "Workers";
  spec.gang.workers[1].ranks.count = workers;
  fill_defaults(spec);
  return spec;
}

TEST(RayCommand, passes_the_command_on_word_by_word) {
  const auto argv = rank_argv(Framework::kRay, {"python", "train.py", "$(touch x) 'a b'"});
  EXPECT_THAT(argv, ElementsAre("/bin/sh", "-c", HasSubstr("command -v ray"), "tutti-ray", kRayRank,
                                "python", "train.py", "$(touch x) 'a b'"));
}

TEST(RayCommand, is_what_ranks_of_ray_are_launched_with) {
  const JobSpec spec = ray_cluster(1);
  const GangPlaces places = {{"a", "127.0.0.1", {7000, 7001}, 0}, {"a", "127.0.0.1", {7010}, 0}};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const Launch launch = launch_of(JobId(1), spec, {{JobId(1), rank}, 1}, "", {}, {}, places);
    EXPECT_EQ(launch.argv, rank_argv(Framework::kRay, spec.command.argv));
  }
}

TEST(RayCommand, ranks_have_the_ports_that_ray_listens_on) {
  JobSpec spec = ray_cluster(2);
  EXPECT_EQ(spec.gang.workers[0].ranks.request.ports, kRayHeadPorts);
  EXPECT_EQ(spec.gang.workers[1].ranks.request.ports, kRayNodePorts);
  spec.gang.workers[1].ranks.request.ports = 50;
  fill_defaults(spec);
  EXPECT_EQ(spec.gang.workers[1].ranks.request.ports, 50u);
}

TEST(MpiCommand, is_what_ranks_of_mpi_are_launched_with) {
  JobSpec spec;
  spec.command.argv = {"mpirun", "./train", "$(touch x) 'a b'"};
  spec.gang.framework = Framework::kMpi;
  spec.gang.workers.resize(1);
  spec.gang.workers[0].name = "Worker";
  spec.gang.workers[0].ranks.count = 2;
  fill_defaults(spec);
  const GangPlaces places = {{"a", "127.0.0.1", {7000}, 0}, {"a", "127.0.0.1", {7010}, 0}};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const Launch launch = launch_of(JobId(1), spec, {{JobId(1), rank}, 1}, "", {}, {}, places);
    EXPECT_THAT(launch.argv,
                ElementsAre("/bin/sh", "-c", HasSubstr("command -v python3"), "tutti-mpi", kMpiRank,
                            "mpirun", "./train", "$(touch x) 'a b'"));
  }
}

}  // namespace
}  // namespace tutti
