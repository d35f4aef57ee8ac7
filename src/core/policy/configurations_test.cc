// Jobs that may run on one of several configurations: what decide() takes, and what explain() says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policy/decide.h"
#include "core/policy/explain.h"
#include "core/policy/impossible.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing_support::broken_invariant;
using testing_support::node;
using testing_support::spec;
using testing_support::with_gpus;
using testing_support::World;

const ModelRun kBert{"bert", 1'300'000'000, 256};

// Eight V100 on the first node, four A100 on the second.
World mixed() {
  return World({with_gpus(node("old", 64), 8, 32768, "V100-32G"),
                with_gpus(node("new", 64), 4, 81920, "A100-80G")});
}

JobSpec flexible(std::vector<Configuration> configurations, ModelRun model = {}) {
  JobSpec job = spec(with_configuration(Request(), configurations.front()));
  job.request.devices.sharing = Sharing::kNever;
  job.request.configurations = std::move(configurations);
  job.model = std::move(model);
  return job;
}

void measured(World& world, const std::string& type, std::uint32_t count, double seconds) {
  world.happen(SpeedsChanged{{{{kBert, {type, 1, count}}, Speed{seconds}}}});
}

std::string node_of(const World& world, JobId job) {
  const ActiveAttempt* attempt = world.ledger.find_active({job, 0});
  return attempt == nullptr ? "" : world.ledger.find_node(attempt->allocation.node)->name;
}

TEST(configurations, the_fastest_by_the_table_is_taken) {
  World world = mixed();
  measured(world, "v100", 8, 7);
  measured(world, "a100", 4, 5);
  const JobId job = world.submit(flexible({{"V100", 8}, {"A100", 4}}, kBert));
  world.pass();
  EXPECT_EQ(node_of(world, job), "new");
  EXPECT_EQ(world.ledger.find_active({job, 0})->allocation.devices.size(), 4u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(configurations, the_best_that_is_free_is_taken) {
  World world = mixed();
  measured(world, "v100", 8, 7);
  measured(world, "a100", 4, 5);
  const JobId first = world.submit(flexible({{"V100", 8}, {"A100", 4}}, kBert));
  const JobId second = world.submit(flexible({{"V100", 8}, {"A100", 4}}, kBert));
  const JobId third = world.submit(flexible({{"V100", 8}, {"A100", 4}}, kBert));
  world.pass();
  EXPECT_EQ(node_of(world, first), "new");
  EXPECT_EQ(node_of(world, second), "old");
  EXPECT_EQ(node_of(world, third), "");
}

TEST(configurations, a_table_that_changes_while_it_waits_counts) {
  World world = mixed();
  measured(world, "v100", 8, 3);
  measured(world, "a100", 4, 5);
  const JobId job = world.submit(flexible({{"A100", 4}, {"V100", 8}}, kBert));
  measured(world, "a100", 4, 2);
  world.pass();
  EXPECT_EQ(node_of(world, job), "new");
}

TEST(configurations, without_the_model_in_the_table_run_times_of_the_kind_count) {
  World world = mixed();
  Profile profile;
  profile.add_time("V100-32G", 8, seconds(50));
  profile.add_time("A100-80G", 4, seconds(40));
  world.ledger.restore_profile("job", profile);
  const JobId job = world.submit(flexible({{"V100", 8}, {"A100", 4}}, {"moe", 1, 1}));
  world.pass();
  EXPECT_EQ(node_of(world, job), "new");
}

TEST(configurations, run_times_are_learnt_from_what_ended_well) {
  World world = mixed();
  const JobId first = world.submit(flexible({{"V100", 8}, {"A100", 4}}));
  world.run();
  EXPECT_EQ(node_of(world, first), "old");
  world.wait(seconds(30));
  world.end({first, 0});
  EXPECT_EQ(world.ledger.profile("job")->time_on("V100", 8), seconds(30));
}

TEST(configurations, nothing_known_means_the_order_of_the_list) {
  World world = mixed();
  const JobId job = world.submit(flexible({{"A100", 4}, {"V100", 8}}));
  world.pass();
  EXPECT_EQ(node_of(world, job), "new");
}

TEST(configurations, what_was_measured_not_to_fit_is_not_taken) {
  World world = mixed();
  measured(world, "v100", 8, 0);
  measured(world, "a100", 4, 5);
  world.submit(spec(with_configuration(Request(), {"A100", 4})));
  world.pass();
  const JobId job = world.submit(flexible({{"V100", 8}, {"A100", 4}}, kBert));
  world.pass();
  EXPECT_EQ(node_of(world, job), "");
}

TEST(configurations, nobody_waits_for_ever_because_nothing_fits) {
  World world = mixed();
  measured(world, "v100", 8, 0);
  const JobId job = world.submit(flexible({{"V100", 8}, {"H100", 8}}, kBert));
  world.pass();
  EXPECT_EQ(node_of(world, job), "old");
}

TEST(configurations, out_of_memory_on_one_it_goes_on_with_more_devices) {
  World world = mixed();
  const JobId job = world.submit(flexible({{"A100", 1}, {"A100", 2}}));
  world.run();
  world.end({job, 0}, {.ending = Ending::kDeviceOutOfMemory, .exit_code = 1});
  EXPECT_EQ(impossible_kind(world.ledger, flexible({{"A100", 1}, {"A100", 2}}).request, "job"), "");
  EXPECT_THAT(impossible_kind(world.ledger, flexible({{"A100", 1}}).request, "job"),
              HasSubstr("needed 81921 MiB"));
  EXPECT_EQ(world.why(job).configurations.back().text, "runs of its kind ran out of its memory");
  world.run();
  EXPECT_EQ(world.ledger.find_active({job, 0})->allocation.devices.size(), 2u);
  world.end({job, 0}, {.ending = Ending::kDeviceOutOfMemory, .exit_code = 1});
  EXPECT_EQ(world.state({job, 0}), TaskState::kFailed);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(configurations, what_no_node_has_is_passed_over) {
  World world = mixed();
  const JobId job = world.submit(flexible({{"H100", 8}, {"V100", 8}}));
  EXPECT_EQ(impossible(world.ledger, flexible({{"H100", 8}, {"V100", 8}}).request), "");
  EXPECT_THAT(impossible(world.ledger, flexible({{"H100", 8}, {"A100", 8}}).request),
              HasSubstr("no node could ever run it"));
  world.pass();
  EXPECT_EQ(node_of(world, job), "old");
}

TEST(configurations, room_is_kept_for_the_best_when_none_is_free) {
  World world = mixed();
  measured(world, "v100", 8, 7);
  measured(world, "a100", 4, 5);
  world.submit(flexible({{"V100", 8}}));
  world.submit(flexible({{"A100", 4}}));
  world.run();
  world.submit(flexible({{"V100", 8}, {"A100", 4}}, kBert));
  world.pass();
  ASSERT_TRUE(world.plan.reservation);
  EXPECT_EQ(world.plan.reservation->parts.front().node, NodeId(2));
}

TEST(configurations, a_waiting_job_is_told_its_list_with_reasons) {
  World world = mixed();
  measured(world, "v100", 8, 7);
  measured(world, "a100", 4, 5);
  world.submit(flexible({{"V100", 8}}));
  world.submit(flexible({{"A100", 4}}));
  world.run();
  const JobId job = world.submit(flexible({{"V100", 8}, {"A100", 4}, {"H100", 8}}, kBert));
  const Explanation why = world.why(job);
  ASSERT_EQ(why.configurations.size(), 3u);
  EXPECT_EQ(why.configurations[0].configuration, (Configuration{"A100", 4}));
  EXPECT_EQ(why.configurations[0].text, "5s an iteration (measured)");
  EXPECT_EQ(why.configurations[1].text, "7s an iteration (measured)");
  EXPECT_EQ(why.configurations[2].text, "no node has such GPUs");
  EXPECT_FALSE(why.configurations[0].taken);
  ASSERT_FALSE(why.reasons.empty());
  EXPECT_EQ(why.reasons[0].code, ReasonCode::kDevices);
  // The end of either of the others would start it.
  EXPECT_THAT(why.remedies, testing::UnorderedElementsAre("the end of job 1 (tutti cancel 1)",
                                                          "the end of job 2 (tutti cancel 2)"));
}

TEST(configurations, who_waits_for_another_job_is_told_its_list_too) {
  World world = mixed();
  measured(world, "v100", 8, 7);
  measured(world, "a100", 4, 5);
  JobSpec after = flexible({{"V100", 8}, {"A100", 4}}, kBert);
  after.after = {{world.submit(flexible({{"V100", 8}})), Dependency::When::kAny}};
  const JobId job = world.submit(after);
  world.run();
  const Explanation why = world.why(job);
  ASSERT_EQ(why.configurations.size(), 2u);
  EXPECT_EQ(why.configurations[0].configuration, (Configuration{"A100", 4}));
  EXPECT_FALSE(why.configurations[0].taken);
}

TEST(configurations, who_waits_for_a_profile_is_told_its_list_too) {
  World world = mixed();
  JobSpec unknown = flexible({{"V100", 8}, {"A100", 4}});
  unknown.request.devices.sharing = Sharing::kAuto;
  unknown.kind = "unknown";
  world.submit(unknown);
  world.run();
  const Explanation why = world.why(world.submit(unknown));
  ASSERT_FALSE(why.reasons.empty());
  EXPECT_EQ(why.reasons[0].code, ReasonCode::kProfile);
  EXPECT_EQ(why.configurations.size(), 2u);
}

TEST(configurations, a_dry_run_tells_where_it_would_start) {
  World world = mixed();
  measured(world, "v100", 8, 7);
  measured(world, "a100", 4, 5);
  world.submit(flexible({{"A100", 4}}));
  world.run();
  const JobFacts facts = facts_of(JobId(99), flexible({{"V100", 8}, {"A100", 4}}, kBert));
  const Explanation why = explain_submission(world.ledger, facts, world.now);
  ASSERT_EQ(why.configurations.size(), 2u);
  EXPECT_TRUE(why.configurations[1].taken);
  EXPECT_EQ(why.configurations[1].configuration, (Configuration{"V100", 8}));
  EXPECT_EQ(why.reasons[0].code, ReasonCode::kStarting);
}

TEST(configurations, a_running_job_is_told_which_it_has) {
  World world = mixed();
  const JobId job = world.submit(flexible({{"V100", 8}, {"A100", 4}}));
  world.run();
  const Explanation why = world.why(job);
  ASSERT_EQ(why.configurations.size(), 2u);
  EXPECT_TRUE(why.configurations[0].taken);
  EXPECT_THAT(why.configurations[0].text, HasSubstr("nothing was measured"));
}

TEST(configurations, an_unmeasured_cell_is_estimated_and_told_so) {
  World world = mixed();
  for (const std::uint32_t count : {1, 2, 4}) {
    measured(world, "v100", count, 40.0 / count);
    measured(world, "a100", count, 20.0 / count);
  }
  const JobId job = world.submit(flexible({{"A100", 3}, {"V100", 8}}, kBert));
  const Explanation why = world.why(job);
  EXPECT_THAT(why.configurations[0].text, HasSubstr("estimated"));
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

}  // namespace
}  // namespace tutti
