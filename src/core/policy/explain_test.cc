#include "core/policy/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/policy/forecast.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::cpus;
using testing_support::failed;
using testing_support::gpus;
using testing_support::node;
using testing_support::spec;
using testing_support::with_gpus;
using testing_support::World;

std::vector<ReasonCode> codes(const Explanation& why) {
  std::vector<ReasonCode> all;
  for (const Reason& reason : why.reasons) all.push_back(reason.code);
  return all;
}

std::string text(const Explanation& why, const World& world) {
  std::string all;
  for (const Reason& reason : why.reasons) all += text_of(reason, world.now) + "; ";
  return all;
}

JobSpec named(const std::string& user, Request request) {
  JobSpec one = spec(std::move(request));
  one.user = user;
  return one;
}

// ---- every reason
// --------------------------------------------------------------------------------

TEST(explain, a_task_that_does_not_wait_has_no_reason) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(1)));
  world.run();
  EXPECT_THAT(world.why(job).reasons, IsEmpty());
  EXPECT_EQ(world.why(job).state, TaskState::kRunning);
}

TEST(explain, dependency) {
  World world({node("a", 4)});
  const JobId first = world.submit(spec(cpus(1)));
  JobSpec child = spec(cpus(1));
  child.after = {{first, Dependency::When::kSuccess}};
  const JobId job = world.submit(child);
  EXPECT_THAT(codes(world.why(job)), ElementsAre(ReasonCode::kDependency));
  EXPECT_THAT(text(world.why(job), world), HasSubstr("waits until job 1 succeeds"));
}

TEST(explain, beside_a_dependency_whatever_else_lacks) {
  World world({node("a", 4, 1000)});
  const JobId first = world.submit(spec(cpus(4, 800)));
  world.run();
  JobSpec child = spec(cpus(2, 300));
  child.after = {{first, Dependency::When::kSuccess}};
  const Explanation why = world.why(world.submit(child));
  EXPECT_THAT(codes(why),
              ElementsAre(ReasonCode::kDependency, ReasonCode::kCpus, ReasonCode::kMemory));
}

TEST(explain, back_off_says_when_it_ends) {
  World world({node("a", 4)});
  JobSpec flaky = spec(cpus(1));
  flaky.retry = {.max = 1, .backoff = seconds(30)};
  const JobId job = world.submit(flaky);
  world.run();
  world.end({job, 0}, failed());
  EXPECT_THAT(codes(world.why(job)), ElementsAre(ReasonCode::kBackoff));
  EXPECT_THAT(text(world.why(job), world), HasSubstr("in 30 seconds"));
  EXPECT_EQ(world.why(job).expected_start_p50, world.now + seconds(30));
}

TEST(explain, array_limit) {
  World world({node("a", 4)});
  JobSpec array = spec(cpus(1), seconds(10), 5);
  array.tasks.max_parallel = 2;
  const JobId job = world.submit(array);
  world.run();
  EXPECT_THAT(codes(world.why(job, 3)), ElementsAre(ReasonCode::kArrayLimit));
  EXPECT_THAT(text(world.why(job, 3), world), HasSubstr("may run 2 tasks at once"));
  EXPECT_THAT(world.why(job, 3).basis, HasSubstr("when tasks of its own job end"));
}

TEST(explain, limits_of_its_own_for_nodes) {
  World world({node("a", 4), node("b", 4)});
  JobSpec batch = spec(cpus(1), seconds(10), 9);
  batch.node_limits = {{"a", 2}, {"b", 1}};
  const JobId job = world.submit(batch);
  world.run();
  const Explanation why = world.why(job, 5);
  EXPECT_THAT(codes(why), ElementsAre(ReasonCode::kNodeLimit));
  EXPECT_EQ(text_of(why.reasons[0], world.now),
            "its job may run 2 tasks at once on a, 1 on b, and as many run");
  EXPECT_THAT(why.remedies, ElementsAre("the end of one of its job's running tasks"));
}

TEST(explain, a_node_that_is_full_is_told_beside_the_job_s_own_limits) {
  World world({node("a", 4), node("b", 1)});
  JobSpec batch = spec(cpus(1), seconds(10), 9);
  batch.node_limits = {{"a", 2}};
  const JobId job = world.submit(batch);
  world.run();
  EXPECT_THAT(codes(world.why(job, 3)), ElementsAre(ReasonCode::kNodeLimit, ReasonCode::kCpus));
}

TEST(explain, cpus_are_told_from_what_is_free_and_not_from_what_there_is) {
  World world({node("a", 4)});
  world.submit(spec(cpus(3)));
  world.run();
  const JobId job = world.submit(spec(cpus(2)));
  const Explanation why = world.why(job);
  ASSERT_THAT(codes(why), ElementsAre(ReasonCode::kCpus));
  EXPECT_EQ(why.reasons[0].wanted, 2000);
  EXPECT_EQ(why.reasons[0].available, 1000);
  EXPECT_EQ(why.reasons[0].capacity, 4000);
  EXPECT_THAT(text(why, world), HasSubstr("wants 2 CPUs, a has 1 of 4 free"));
}

TEST(explain, memory_and_cpus_can_both_lack) {
  World world({node("a", 4, 1000)});
  world.submit(spec(cpus(3, 800)));
  world.run();
  const JobId job = world.submit(spec(cpus(2, 300)));
  EXPECT_THAT(codes(world.why(job)), ElementsAre(ReasonCode::kCpus, ReasonCode::kMemory));
}

TEST(explain, devices) {
  World world({with_gpus(node("a", 8), 2, 40960, "A100")});
  Request request = gpus(2);
  request.devices.sharing = Sharing::kNever;
  world.submit(spec(request));
  world.run();
  request.devices.count = 1;
  request.devices.type = "A100";
  const JobId job = world.submit(spec(request));
  EXPECT_THAT(codes(world.why(job)), ElementsAre(ReasonCode::kDevices));
  EXPECT_THAT(text(world.why(job), world),
              HasSubstr("wants 1 GPU of type A100 to itself, a has 0 of 2"));
}

TEST(explain, behind_says_how_many_and_who_is_first) {
  World world({node("a", 4)});
  world.submit(spec(cpus(4)));
  world.run();
  const JobId first = world.submit(spec(cpus(2), seconds(10), 7));
  const JobId job = world.submit(spec(cpus(2)));
  const Explanation why = world.why(job);
  ASSERT_THAT(codes(why), Contains(ReasonCode::kBehind));
  EXPECT_EQ(why.reasons.back().count, 7u);
  EXPECT_EQ(why.reasons.back().job, first);
}

// One A100, on which the first job of a kind is measured while the second waits, and a V100.
World measuring() {
  World world(
      {with_gpus(node("new", 8), 1, 81920, "A100"), with_gpus(node("old", 8), 1, 32768, "V100")});
  JobSpec unknown = spec(gpus(1));
  unknown.request.devices.type = "A100";
  unknown.kind = "unknown";
  world.submit(unknown);
  world.run();
  world.submit(unknown);
  return world;
}

JobSpec alone_on(const std::string& type) {
  JobSpec one = spec(gpus(1));
  one.request.devices.type = type;
  one.request.devices.sharing = Sharing::kNever;
  return one;
}

TEST(explain, who_waits_for_a_profile_is_not_before_others) {
  World world = measuring();
  const Explanation starts = world.why(world.submit(alone_on("V100")));
  EXPECT_THAT(codes(starts), ElementsAre(ReasonCode::kStarting));
  EXPECT_THAT(starts.remedies, IsEmpty());
  EXPECT_EQ(starts.expected_start_p50, world.now);
  world.run();
  const Explanation waits = world.why(world.submit(alone_on("A100")));
  EXPECT_THAT(codes(waits), ElementsAre(ReasonCode::kDevices));
}

TEST(explain, who_passes_a_job_that_does_not_fit_is_starting) {
  World world({node("a", 4), node("b", 2)});
  world.submit(named("ann", cpus(3)));
  world.run();
  world.submit(named("bob", cpus(4)));
  const JobId first = world.submit(spec(cpus(1)));
  EXPECT_THAT(codes(world.why(first)), ElementsAre(ReasonCode::kStarting));
  const JobId third = world.submit(spec(cpus(1), seconds(10), 2));
  EXPECT_THAT(codes(world.why(third, 0)), ElementsAre(ReasonCode::kStarting));
  EXPECT_THAT(codes(world.why(third, 1)), Contains(ReasonCode::kBehind));
}

JobSpec gang_of(std::uint32_t ranks, Request each) {
  JobSpec gang = spec(each);
  WorkerGroup workers;
  workers.ranks.count = ranks;
  workers.ranks.request = std::move(each);
  gang.gang.workers = {workers};
  gang.tasks.shape = TaskSet::Shape::kGang;
  gang.tasks.count = ranks;
  return gang;
}

TEST(explain, a_gang_that_passes_a_job_that_does_not_fit_is_starting) {
  World world({node("a", 4), node("b", 2)});
  world.submit(named("ann", cpus(3)));
  world.run();
  world.submit(named("bob", cpus(4)));
  const JobId gang = world.submit(gang_of(2, cpus(1)));
  EXPECT_THAT(codes(world.why(gang)), ElementsAre(ReasonCode::kStarting));
}

TEST(explain, reserved_names_the_job_for_which_room_is_kept) {
  World world({node("a", 4)});
  world.submit(spec(cpus(3)));
  world.run();
  const JobId head = world.submit(spec(cpus(4)));
  const JobId job = world.submit(spec(cpus(1)));
  const Explanation why = world.why(job);
  ASSERT_THAT(codes(why), Contains(ReasonCode::kReserved));
  EXPECT_EQ(why.reasons.back().job, head);
  EXPECT_THAT(text(why, world), HasSubstr("kept for job 2"));
}

TEST(explain, nodes_that_take_no_work_are_named_with_their_reason) {
  World world({node("a", 4)});
  world.happen(NodeStateChanged{NodeId(1), Node::State::kDraining, "new disks"});
  const JobId job = world.submit(spec(cpus(1)));
  EXPECT_THAT(codes(world.why(job)), ElementsAre(ReasonCode::kNodes));
  EXPECT_THAT(text(world.why(job), world), HasSubstr("a is draining (new disks)"));
  EXPECT_THAT(world.why(job).remedies, ElementsAre(HasSubstr("tutti nodes resume a")));
}

TEST(explain, a_node_that_became_too_small_is_told_with_what_is_wanted) {
  World world({node("a", 2)});
  const JobId job = world.submit(spec(cpus(2)));
  Node smaller = node("a", 1);
  smaller.id = NodeId(1);
  world.happen(NodeChanged{smaller});
  const Explanation why = world.why(job);
  EXPECT_THAT(codes(why), ElementsAre(ReasonCode::kNodes));
  EXPECT_THAT(text(why, world), HasSubstr("it wants 2 CPUs (the largest node has 1)"));
  EXPECT_THAT(why.remedies, ElementsAre("asking for at most --cpus 1"));
}

TEST(explain, what_is_about_to_start_says_so) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(1)));
  EXPECT_THAT(codes(world.why(job)), ElementsAre(ReasonCode::kStarting));
}

TEST(reason, every_code_has_a_name_and_a_text) {
  for (int code = 0; code <= static_cast<int>(ReasonCode::kStarting); ++code) {
    const Reason reason{.code = static_cast<ReasonCode>(code)};
    EXPECT_STRNE(reason_name(reason.code), "unknown");
    EXPECT_NE(text_of(reason, TimePoint(1)), "");
  }
}

// ---- remedies are true
// ---------------------------------------------------------------------------

bool starts(World& world, JobId job) {
  const std::vector<AttemptId> placed = world.pass();
  return std::any_of(placed.begin(), placed.end(),
                     [&](const AttemptId& attempt) { return attempt.task.job == job; });
}

TEST(remedy, the_end_of_the_named_job_starts_it) {
  World world({node("a", 4)});
  const JobId small = world.submit(spec(cpus(1)));
  const JobId large = world.submit(spec(cpus(3)));
  world.run();
  const JobId job = world.submit(spec(cpus(3)));
  EXPECT_THAT(world.why(job).remedies, ElementsAre("the end of job 2 (tutti cancel 2)"));
  world.end({large, 0});
  EXPECT_TRUE(starts(world, job));
  EXPECT_EQ(world.state({small, 0}), TaskState::kRunning);
}

TEST(remedy, of_its_own_job_single_tasks_are_named) {
  World world({node("a", 2)});
  JobSpec array = spec(cpus(1), seconds(10), 3);
  array.tasks.first = 1;
  const JobId job = world.submit(array);
  world.run();
  EXPECT_THAT(world.why(job, 2).remedies, ElementsAre("the end of task 1.1 (tutti cancel 1.1)",
                                                      "the end of task 1.2 (tutti cancel 1.2)"));
}

TEST(remedy, an_end_that_would_help_somebody_else_is_not_offered_alone) {
  World world({node("a", 4)});
  world.submit(spec(cpus(4)));
  world.run();
  world.submit(spec(cpus(4)));
  const JobId job = world.submit(spec(cpus(3)));
  EXPECT_THAT(world.why(job).remedies,
              ElementsAre("a higher --priority and the end of job 1 (tutti cancel 1)"));
}

TEST(remedy, a_smaller_request_starts_it) {
  World world({node("a", 4, 1000)});
  world.submit(spec(cpus(3, 700)));
  world.run();
  const JobId wide = world.submit(spec(cpus(2)));
  EXPECT_THAT(world.why(wide).remedies, Contains("asking for at most --cpus 1"));
  world.happen(CancelRequested{wide, {}});
  const JobId heavy = world.submit(spec(cpus(1, 400)));
  EXPECT_THAT(world.why(heavy).remedies, Contains("asking for at most --mem 300M"));
  world.happen(CancelRequested{heavy, {}});
  EXPECT_TRUE(starts(world, world.submit(spec(cpus(1, 300)))));
}

TEST(remedy, a_smaller_request_is_not_offered_where_the_room_is_kept) {
  World world({node("a", 4)});
  world.submit(named("ann", cpus(3)));
  world.run();
  world.submit(named("bob", cpus(4)));
  const JobId job = world.submit(named("bob", cpus(2)));
  EXPECT_THAT(world.why(job).remedies,
              ElementsAre("a higher --priority and the end of job 1 (tutti cancel 1)"));
}

TEST(remedy, several_ends_are_named_where_one_is_not_enough) {
  World world({node("a", 2)});
  const JobId one = world.submit(spec(cpus(1)));
  const JobId two = world.submit(spec(cpus(1)));
  world.run();
  const JobId job = world.submit(spec(cpus(2)));
  EXPECT_THAT(world.why(job).remedies, ElementsAre("the end of jobs 1 and 2 (tutti cancel 1,2)"));
  world.end({one, 0});
  world.end({two, 0});
  EXPECT_TRUE(starts(world, job));
}

TEST(remedy, of_several_ends_those_that_come_first_and_are_needed_are_named) {
  World world({node("a", 7)});
  for (const int size : {1, 2, 3, 1}) {
    JobSpec one = spec(cpus(size));
    one.time_limit = seconds(size == 1 ? 10 : 20);
    world.submit(one);
  }
  world.run();
  EXPECT_THAT(world.why(world.submit(spec(cpus(5)))).remedies,
              ElementsAre("the end of jobs 2 and 3 (tutti cancel 2,3)"));
}

JobSpec of_kind(const char* kind) {
  JobSpec one = spec(cpus(1));
  one.kind = kind;
  return one;
}

TEST(remedy, behind_others_several_ends_or_a_priority_and_fewer_start_it) {
  for (const bool apart : {false, true}) {
    World world(apart ? std::vector{node("a", 1), node("b", 1)} : std::vector{node("a", 2)});
    for (int i = 0; i < 2; ++i) world.submit(spec(cpus(1)));
    world.run();
    world.submit(of_kind("first"));
    const JobId job = world.submit(of_kind("second"));
    EXPECT_THAT(world.why(job).remedies,
                ElementsAre("the end of jobs 1 and 2 (tutti cancel 1,2)",
                            "a higher --priority and the end of job 1 (tutti cancel 1)"));
    for (const std::uint64_t one : {1u, 2u}) world.end({JobId(one), 0});
    EXPECT_TRUE(starts(world, job));
  }
}

TEST(remedy, of_several_ends_tasks_of_its_own_job_are_named) {
  World world({node("a", 3)});
  world.submit(of_kind("other"));
  world.run();
  JobSpec array = spec(cpus(1), seconds(10), 5);
  array.tasks.first = 1;
  const JobId job = world.submit(array);
  world.run();
  EXPECT_THAT(world.why(job, 3).remedies,
              Contains("the end of job 1 and of task 2.1 (tutti cancel 1,2.1)"));
}

TEST(remedy, more_than_eight_ends_are_not_named) {
  World world({node("a", 9)});
  for (int i = 0; i < 9; ++i) world.submit(spec(cpus(1)));
  world.run();
  EXPECT_THAT(world.why(world.submit(spec(cpus(8)))).remedies, ElementsAre(HasSubstr(",8)")));
  EXPECT_THAT(world.why(world.submit(spec(cpus(9)))).remedies, IsEmpty());
}

TEST(remedy, a_higher_priority_starts_it) {
  World world({node("a", 4)});
  world.submit(spec(cpus(3)));
  world.run();
  world.submit(spec(cpus(4)));
  JobSpec last = spec(cpus(1));
  const JobId job = world.submit(last);
  EXPECT_THAT(world.why(job).remedies, ElementsAre(HasSubstr("a higher --priority")));
  world.happen(CancelRequested{job, {}});
  last.priority = 1;
  EXPECT_TRUE(starts(world, world.submit(last)));
}

TEST(remedy, the_end_of_what_it_waits_for_is_offered_if_there_is_room_then) {
  World world({node("a", 4)});
  const JobId one = world.submit(spec(cpus(1)));
  const JobId two = world.submit(spec(cpus(2)));
  world.run();
  JobSpec child = spec(cpus(4));
  child.after = {{one, Dependency::When::kSuccess}};
  const JobId wide = world.submit(child);
  EXPECT_THAT(world.why(wide).remedies, IsEmpty());
  world.happen(CancelRequested{wide, {}});
  child.after.push_back({two, Dependency::When::kAny});
  const JobId job = world.submit(child);
  EXPECT_THAT(world.why(job).remedies,
              ElementsAre("the success of job 1 and the end of job 2 (tutti cancel 2)"));
  EXPECT_THAT(world.why(world.submit(child)).remedies, IsEmpty());
  world.end({one, 0});
  world.end({two, 0});
  EXPECT_TRUE(starts(world, job));
}

TEST(explain, of_several_types_those_of_the_one_that_is_wanted_are_counted) {
  Node mixed = with_gpus(node("a", 8), 3, 16384, "V100");
  mixed.devices[2].type = "T4";
  World world({mixed});
  Request request = gpus(1);
  request.devices.type = "T4";
  request.devices.sharing = Sharing::kNever;
  world.submit(spec(request));
  const JobId waits = world.submit(spec(request));
  world.run();
  EXPECT_THAT(text(world.why(waits), world), HasSubstr("a has 0 of 1"));
}

// ---- dry run
// ----------------------------------------------------------------------------------

TEST(explain_submission, it_is_as_if_the_job_were_the_newest) {
  World world({node("a", 4)});
  world.submit(spec(cpus(4)));
  world.run();
  const Explanation why =
      explain_submission(world.ledger, facts_of(JobId(2), spec(cpus(1))), world.now);
  EXPECT_THAT(codes(why), ElementsAre(ReasonCode::kCpus));
  EXPECT_EQ(world.ledger.jobs().size(), 1u);
  EXPECT_EQ(world.ledger.totals()[TaskState::kQueued], 0u);
  EXPECT_EQ(world.ledger.totals()[TaskState::kCancelled], 0u);
}

// ---- forecast
// ------------------------------------------------------------------------------------

JobSpec limited(Request request, std::int64_t limit) {
  JobSpec one = spec(std::move(request));
  one.time_limit = seconds(limit);
  return one;
}

TEST(forecast, a_job_is_expected_when_its_room_is_free) {
  World world({node("a", 4)});
  world.submit(limited(cpus(4), 100));
  world.run();
  const JobId job = world.submit(limited(cpus(2), 10));
  EXPECT_EQ(world.why(job).expected_start_p50, world.now + seconds(100));
  EXPECT_THAT(world.why(job).basis, HasSubstr("time limits"));
}

TEST(forecast, the_work_before_it_is_counted) {
  World world({node("a", 1)});
  world.submit(limited(cpus(1), 100));
  world.run();
  JobSpec before = limited(cpus(1), 100);
  before.tasks = {.shape = TaskSet::Shape::kArray, .count = 5};
  world.submit(before);
  const JobId job = world.submit(limited(cpus(1), 10));
  EXPECT_EQ(world.why(job).expected_start_p50, world.now + seconds(600));
}

TEST(forecast, what_nobody_knows_is_not_guessed) {
  World world({node("a", 4)});
  world.submit(spec(cpus(4)));
  world.run();
  const JobId job = world.submit(spec(cpus(2)));
  EXPECT_FALSE(world.why(job).expected_start_p50);
  EXPECT_THAT(world.why(job).basis, HasSubstr("not known"));
}

TEST(forecast, what_has_outlasted_its_history_is_not_guessed) {
  World world({node("a", 4)});
  world.measured("job", seconds(10));
  world.submit(spec(cpus(4)));
  world.run();
  JobSpec other = spec(cpus(2));
  other.kind = "other";
  const JobId job = world.submit(other);
  EXPECT_TRUE(world.why(job).expected_start_p50);
  world.wait(seconds(60));
  EXPECT_FALSE(world.why(job).expected_start_p50);
  EXPECT_EQ(world.why(job).basis, "not known: job 1 runs for longer than others of its kind did");
}

TEST(forecast, a_limit_holds_also_when_a_history_is_outlasted) {
  World world({node("a", 4)});
  world.measured("job", seconds(10));
  world.submit(limited(cpus(4), 100));
  world.run();
  const JobId job = world.submit(limited(cpus(2), 10));
  world.wait(seconds(60));
  EXPECT_EQ(world.why(job).expected_start_p50, world.now + seconds(40));
  EXPECT_EQ(world.why(job).expected_start_p90, world.now + seconds(40));
}

TEST(forecast, a_row_of_jobs_that_wait_for_each_other_is_followed) {
  World world({node("a", 4)});
  JobId last = world.submit(limited(cpus(2), 100));
  world.run();
  for (int i = 1; i <= 2; ++i) {
    JobSpec next = limited(cpus(4), 10);
    next.after = {{last, Dependency::When::kSuccess}};
    last = world.submit(next);
    EXPECT_EQ(world.why(last).expected_start_p50, world.now + seconds(90 + 10 * i));
    EXPECT_EQ(world.why(last).expected_start_p90, world.now + seconds(90 + 10 * i));
  }
}

TEST(forecast, an_end_that_nobody_knows_is_named) {
  World world({node("a", 4)});
  const JobId first = world.submit(spec(cpus(1)));
  world.run();
  JobSpec child = limited(cpus(1), 10);
  child.after = {{first, Dependency::When::kAny}};
  const Explanation why = world.why(world.submit(child));
  EXPECT_FALSE(why.expected_start_p50);
  EXPECT_THAT(why.basis, HasSubstr("when job 1 ends"));
}

TEST(forecast, measured_times_give_a_likely_and_a_late_start) {
  World world({node("a", 4)});
  Profile mixed;
  for (int i = 0; i < 80; ++i) mixed.add(seconds(10), MiB(1));
  for (int i = 0; i < 20; ++i) mixed.add(seconds(60), MiB(1));
  world.ledger.restore_profile("job", mixed);
  world.submit(spec(cpus(4)));
  world.run();
  const JobId job = world.submit(spec(cpus(2)));
  const Explanation why = world.why(job);
  EXPECT_LT(why.expected_start_p50, world.now + seconds(15));
  EXPECT_GT(why.expected_start_p90, world.now + seconds(45));
}

}  // namespace
}  // namespace tutti
