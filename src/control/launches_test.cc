#include "control/launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Has one job for every number, all alike, and remembers which were read.
class OneSpec : public Store {
 public:
  Result<void> commit(const Round&) override { return {}; }
  Result<Recovered> recover() override { return Recovered(); }
  Result<JobSpec> load_spec(JobId job) override {
    read.push_back(job.value);
    return spec;
  }
  Result<std::vector<std::string>> load_lines(JobId, std::uint32_t, std::uint32_t count) override {
    return std::vector<std::string>(count, line);
  }
  Result<JobRow> load_job(JobId) override { return not_found("none"); }
  Result<std::vector<TaskRow>> load_tasks(JobId) override { return std::vector<TaskRow>(); }

  JobSpec spec;
  std::string line;
  std::vector<std::uint64_t> read;
};

class LaunchesTest : public testing::Test {
 protected:
  // Which specs were read from the store for these launches.
  std::vector<std::uint64_t> read_for(std::uint64_t first, std::uint64_t last,
                                      std::uint32_t index = 0) {
    store_.read.clear();
    for (std::uint64_t job = first; job <= last; ++job) {
      AttemptPlaced placed;
      placed.attempt = {{JobId(job), index}, 1};
      EXPECT_TRUE(launches_.launch(placed, Node(), GangPlaces()));
    }
    return store_.read;
  }

  OneSpec store_;
  Launches launches_{store_};
};

TEST_F(LaunchesTest, specs_are_kept_until_there_are_many) {
  store_.spec.command.argv = {"true"};
  read_for(1, 64);
  EXPECT_THAT(read_for(1, 64), IsEmpty());
  EXPECT_THAT(read_for(65, 65), ElementsAre(65));
  EXPECT_THAT(read_for(2, 65), IsEmpty());
  EXPECT_THAT(read_for(1, 1), ElementsAre(1));
}

TEST_F(LaunchesTest, of_large_specs_eight_megabytes_are_kept) {
  store_.spec.command.script.assign(std::size_t{3} << 20, 'x');
  read_for(1, 3);
  EXPECT_THAT(read_for(2, 3), IsEmpty());
  EXPECT_THAT(read_for(1, 1), ElementsAre(1));
  launches_.forget();
  read_for(1, 2);
  EXPECT_THAT(read_for(1, 2), IsEmpty());
}

TEST_F(LaunchesTest, lines_of_a_batch_count_as_long_as_they_are_kept) {
  store_.spec.tasks.shape = TaskSet::Shape::kBatch;
  store_.spec.tasks.count = 2000;
  store_.line.assign(3000, 'x');
  read_for(1, 4);
  EXPECT_THAT(read_for(1, 1), ElementsAre(1));
  launches_.forget();
  read_for(1, 3);
  // The last line alone is kept then.
  read_for(1, 3, 1999);
  read_for(4, 4);
  EXPECT_THAT(read_for(1, 4, 1999), IsEmpty());
}

}  // namespace
}  // namespace tutti
