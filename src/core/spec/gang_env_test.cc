#include "core/spec/gang_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/spec/validate.h"

namespace tutti {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

using Variables = std::map<std::string, std::string>;

WorkerGroup group_of(const std::string& name, std::uint32_t count, std::uint32_t replica = 0) {
  WorkerGroup group;
  group.name = name;
  group.ranks.count = count;
  group.ranks.request.ports = 1;
  group.replica = replica;
  return group;
}

JobSpec gang_of(Framework framework, std::vector<WorkerGroup> workers) {
  JobSpec spec;
  spec.name = "train";
  spec.user = "ann";
  spec.workdir = "/home/ann";
  spec.command.argv = {"true"};
  spec.gang.framework = framework;
  spec.gang.workers = std::move(workers);
  fill_defaults(spec);
  return spec;
}

// Two ranks on "a", one on "b": 10.0.0.1:7000, 10.0.0.1:7001, 10.0.0.2:7000.
GangPlaces three_on_two_nodes(std::uint32_t devices = 0) {
  return {{"a", "10.0.0.1", {7000}, devices},
          {"a", "10.0.0.1", {7001}, devices},
          {"b", "10.0.0.2", {7000}, devices}};
}

GangPlaces on_one_node(std::uint32_t ranks) {
  GangPlaces places;
  for (std::uint32_t i = 0; i < ranks; ++i) places.push_back({"a", "127.0.0.1", {7000 + i}, 0});
  return places;
}

Variables environment(const JobSpec& spec, std::uint32_t rank, const GangPlaces& places) {
  Variables out;
  for (const std::string& entry : gang_environment(JobId(42), spec, rank, places)) {
    const std::size_t equals = entry.find('=');
    const bool fresh = out.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second;
    EXPECT_TRUE(fresh) << entry << " is set twice";
  }
  return out;
}

Variables of_rank(Framework framework, std::uint32_t rank, std::uint32_t devices = 0) {
  return environment(gang_of(framework, {group_of("Worker", 3)}), rank,
                     three_on_two_nodes(devices));
}

TEST(GangEnvironment, tells_a_rank_where_it_is) {
  const JobSpec spec = gang_of(Framework::kNone, {group_of("Chief", 1), group_of("Worker", 2)});
  EXPECT_THAT(environment(spec, 1, three_on_two_nodes()),
              IsSupersetOf(Variables{{"TUTTI_LOCAL_RANK", "1"},
                                     {"TUTTI_LOCAL_WORLD_SIZE", "2"},
                                     {"TUTTI_NODE_RANK", "0"},
                                     {"TUTTI_NODE_COUNT", "2"},
                                     {"TUTTI_GROUP", "Worker"},
                                     {"TUTTI_GROUP_RANK", "0"},
                                     {"TUTTI_GROUP_SIZE", "2"},
                                     {"TUTTI_MASTER_ADDR", "10.0.0.1"},
                                     {"TUTTI_MASTER_PORT", "7000"},
                                     {"TUTTI_HOSTS", "10.0.0.1,10.0.0.1,10.0.0.2"}}));
  EXPECT_THAT(environment(spec, 2, three_on_two_nodes()),
              IsSupersetOf(Variables{{"TUTTI_LOCAL_RANK", "0"},
                                     {"TUTTI_LOCAL_WORLD_SIZE", "1"},
                                     {"TUTTI_NODE_RANK", "1"},
                                     {"TUTTI_GROUP_RANK", "1"}}));
}

TEST(GangEnvironment, has_slurm_twins) {
  EXPECT_THAT(of_rank(Framework::kNone, 1),
              IsSupersetOf(Variables{{"SLURM_JOB_ID", "42"},
                                     {"SLURM_JOB_NAME", "train"},
                                     {"SLURM_PROCID", "1"},
                                     {"SLURM_NTASKS", "3"},
                                     {"SLURM_NPROCS", "3"},
                                     {"SLURM_STEP_NUM_TASKS", "3"},
                                     {"SLURM_LOCALID", "1"},
                                     {"SLURM_NODEID", "0"},
                                     {"SLURM_NNODES", "2"},
                                     {"SLURM_JOB_NUM_NODES", "2"},
                                     {"SLURM_STEP_NUM_NODES", "2"},
                                     {"SLURM_NODELIST", "10.0.0.1,10.0.0.2"},
                                     {"SLURM_JOB_NODELIST", "10.0.0.1,10.0.0.2"},
                                     {"SLURM_STEP_NODELIST", "10.0.0.1,10.0.0.2"},
                                     {"SLURM_TASKS_PER_NODE", "2,1"},
                                     {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                                     {"SLURM_NTASKS_PER_NODE", "2"}}));
}

TEST(GangEnvironment, those_who_recognise_slurm_use_the_leased_port) {
  EXPECT_THAT(of_rank(Framework::kNone, 2),
              IsSupersetOf(Variables{{"MASTER_PORT", "7000"},
                                     {"JAX_COORDINATOR_ADDRESS", "10.0.0.1:7000"}}));
}

TEST(GangEnvironment, equal_nodes_of_slurm_are_counted) {
  GangPlaces places;
  for (const char* node : {"a", "b", "c"}) places.push_back({node, node, {7000}, 0});
  const JobSpec spec = gang_of(Framework::kNone, {group_of("Worker", 3)});
  EXPECT_EQ(environment(spec, 0, places)["SLURM_TASKS_PER_NODE"], "1(x3)");
}

TEST(GangEnvironment, a_rank_with_devices_is_a_node_of_its_own_to_its_framework) {
  EXPECT_THAT(of_rank(Framework::kPytorch, 1, 2),
              IsSupersetOf(Variables{{"TUTTI_LOCAL_RANK", "1"},
                                     {"TUTTI_NODE_RANK", "0"},
                                     {"LOCAL_RANK", "0"},
                                     {"LOCAL_WORLD_SIZE", "1"},
                                     {"NODE_RANK", "1"},
                                     {"SLURM_LOCALID", "0"},
                                     {"SLURM_NODEID", "1"},
                                     {"SLURM_NNODES", "3"},
                                     {"SLURM_NODELIST", "10.0.0.1,10.0.0.1,10.0.0.2"},
                                     {"SLURM_TASKS_PER_NODE", "1(x3)"},
                                     {"PET_NPROC_PER_NODE", "2"},
                                     {"JAX_LOCAL_DEVICE_IDS", "0,1"}}));
}

TEST(GangEnvironment, of_pytorch_is_what_torch_distributed_reads) {
  EXPECT_THAT(of_rank(Framework::kPytorch, 2),
              IsSupersetOf(Variables{{"MASTER_ADDR", "10.0.0.1"},
                                     {"MASTER_PORT", "7000"},
                                     {"WORLD_SIZE", "3"},
                                     {"RANK", "2"},
                                     {"LOCAL_RANK", "0"},
                                     {"LOCAL_WORLD_SIZE", "1"},
                                     {"NODE_RANK", "1"},
                                     {"GROUP_RANK", "1"},
                                     {"GROUP_WORLD_SIZE", "2"},
                                     {"PET_NNODES", "3"},
                                     {"PET_NODE_RANK", "2"},
                                     {"PET_NPROC_PER_NODE", "1"},
                                     {"PET_MASTER_ADDR", "10.0.0.1"},
                                     {"PET_MASTER_PORT", "7000"}}));
}

TEST(GangEnvironment, of_tensorflow_lists_the_cluster) {
  const JobSpec spec = gang_of(Framework::kTensorflow,
                               {group_of("Chief", 1), group_of("PS", 1), group_of("Worker", 2)});
  EXPECT_EQ(environment(spec, 3, on_one_node(4))["TF_CONFIG"],
            R"({"cluster":{"chief":["127.0.0.1:7000"],"ps":["127.0.0.1:7001"],)"
            R"("worker":["127.0.0.1:7002","127.0.0.1:7003"]},"task":{"type":"worker","index":1}})");
}

TEST(GangEnvironment, evaluator_of_tensorflow_is_not_in_the_cluster) {
  const JobSpec spec =
      gang_of(Framework::kTensorflow, {group_of("Master", 1), group_of("Evaluator", 1)});
  EXPECT_EQ(environment(spec, 1, on_one_node(2))["TF_CONFIG"],
            R"({"cluster":{"chief":["127.0.0.1:7000"]},"task":{"type":"evaluator","index":0}})");
}

TEST(GangEnvironment, of_jax_names_the_coordinator) {
  EXPECT_THAT(of_rank(Framework::kJax, 2),
              IsSupersetOf(Variables{{"JAXOPERATOR_COORDINATOR_ADDRESS", "10.0.0.1:7000"},
                                     {"JAXOPERATOR_COORDINATOR_HOST", "10.0.0.1"},
                                     {"JAXOPERATOR_NUM_PROCESSES", "3"},
                                     {"JAXOPERATOR_PROCESS_ID", "2"},
                                     {"JAX_COORDINATOR_ADDRESS", "10.0.0.1:7000"},
                                     {"JAX_NUM_PROCESSES", "3"},
                                     {"JAX_PROCESS_ID", "2"}}));
}

TEST(GangEnvironment, of_a_job_set_numbers_jobs_and_completions) {
  const JobSpec spec = gang_of(
      Framework::kJobset, {group_of("driver", 1), group_of("actor", 2), group_of("actor", 2, 1)});
  EXPECT_THAT(environment(spec, 4, on_one_node(5)),
              IsSupersetOf(Variables{{"JOBSET_NAME", "train"},
                                     {"JOB_COMPLETION_INDEX", "1"},
                                     {"JOB_INDEX", "1"},
                                     {"JOB_GLOBAL_INDEX", "2"},
                                     {"GLOBAL_REPLICAS", "3"},
                                     {"REPLICATED_JOB_NAME", "actor"},
                                     {"REPLICATED_JOB_REPLICAS", "2"}}));
}

TEST(GangEnvironment, of_xgboost_names_the_tracker) {
  EXPECT_THAT(of_rank(Framework::kXgboost, 1),
              IsSupersetOf(Variables{{"MASTER_ADDR", "10.0.0.1"},
                                     {"MASTER_PORT", "7000"},
                                     {"WORLD_SIZE", "3"},
                                     {"RANK", "1"},
                                     {"DMLC_TRACKER_URI", "10.0.0.1"},
                                     {"DMLC_TRACKER_PORT", "7000"},
                                     {"DMLC_NUM_WORKER", "3"},
                                     {"DMLC_NUM_SERVER", "0"},
                                     {"DMLC_TASK_ID", "1"},
                                     {"DMLC_ROLE", "worker"}}));
}

TEST(GangEnvironment, of_ray_is_what_starts_its_nodes) {
  GangPlaces places = {{"a", "10.0.0.1", {7000, 7001, 7002}, 2}, {"b", "10.0.0.2", {7100}, 1}};
  const JobSpec spec = gang_of(Framework::kRay, {group_of("Head", 1), group_of("Workers", 1)});
  EXPECT_THAT(environment(spec, 1, places),
              IsSupersetOf(Variables{{"TUTTI_MASTER_ADDR", "10.0.0.1"},
                                     {"TUTTI_MASTER_PORT", "7000"},
                                     {"TUTTI_RAY_BELL_PORT", "7001"},
                                     {"TUTTI_RAY_NODE_ADDRESS", "10.0.0.2"},
                                     {"TUTTI_RAY_GPUS", "1"}}));
}

TEST(GangEnvironment, of_mpi_has_a_slot_for_each_device) {
  const GangPlaces places = {{"a", "10.0.0.1", {7000}, 0}, {"b", "10.0.0.2", {7100}, 4}};
  const JobSpec spec = gang_of(Framework::kMpi, {group_of("Launcher", 1), group_of("Worker", 1)});
  EXPECT_THAT(environment(spec, 0, places), Contains(Pair("TUTTI_MPI_SLOTS", "1")));
  EXPECT_THAT(environment(spec, 1, places), Contains(Pair("TUTTI_MPI_SLOTS", "4")));
}

TEST(GangEnvironment, what_has_ranks_of_its_own_is_not_told_of_slurm) {
  EXPECT_THAT(of_rank(Framework::kMpi, 0), Not(Contains(Key("SLURM_NTASKS"))));
  EXPECT_THAT(of_rank(Framework::kRay, 0), Not(Contains(Key("SLURM_NTASKS"))));
}

TEST(GangEnvironment, ranks_of_one_node_talk_over_loopback_unless_the_job_says_otherwise) {
  JobSpec spec = gang_of(Framework::kPytorch, {group_of("Worker", 2)});
  EXPECT_THAT(environment(spec, 0, on_one_node(2)), Contains(Pair("GLOO_SOCKET_IFNAME", "lo")));
  EXPECT_THAT(of_rank(Framework::kPytorch, 0), Not(Contains(Key("GLOO_SOCKET_IFNAME"))));
  spec.env = {"GLOO_SOCKET_IFNAME=eth0"};
  EXPECT_THAT(environment(spec, 0, on_one_node(2)), Not(Contains(Key("GLOO_SOCKET_IFNAME"))));
}

TEST(GangEnvironment, shares_out_the_items_that_the_job_names) {
  JobSpec spec = gang_of(Framework::kNone, {group_of("Worker", 3)});
  EXPECT_THAT(environment(spec, 1, on_one_node(3)), Not(Contains(Key("TUTTI_SHARD_BEGIN"))));
  spec.env = {"TUTTI_SHARD_TOTAL=1000"};
  EXPECT_THAT(environment(spec, 1, on_one_node(3)),
              IsSupersetOf(Variables{{"TUTTI_SHARD_BEGIN", "334"}, {"TUTTI_SHARD_END", "667"}}));
}

TEST(GangEnvironment, list_of_hosts_that_no_program_could_be_given_is_left_out) {
  const std::uint32_t ranks = 10'000;
  const JobSpec spec = gang_of(Framework::kNone, {group_of("Worker", ranks)});
  EXPECT_THAT(environment(spec, 0, on_one_node(100)), Contains(Key("TUTTI_HOSTS")));
  GangPlaces places(ranks, {"a", "192.168.100.100", {7000}, 0});
  EXPECT_THAT(environment(spec, 0, places), Not(Contains(Key("TUTTI_HOSTS"))));
}

// Of every framework: each rank is told the same of the gang, and something else of itself.
TEST(GangEnvironment, ranks_agree_on_the_gang_and_differ_in_their_numbers) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(kLastFramework); ++i) {
    std::set<std::string> numbers;
    std::set<std::string> clusters;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      Variables env = of_rank(Framework(i), rank);
      numbers.insert(env["TUTTI_NODE_RANK"] + "/" + env["TUTTI_LOCAL_RANK"]);
      const std::string& tf = env["TF_CONFIG"];
      clusters.insert(env["TUTTI_HOSTS"] + env["SLURM_NODELIST"] + env["MASTER_ADDR"] +
                      env["MASTER_PORT"] + env["JAX_COORDINATOR_ADDRESS"] +
                      tf.substr(0, tf.find("\"task\"")));
    }
    EXPECT_EQ(numbers.size(), 3U) << framework_name(Framework(i));
    EXPECT_EQ(clusters.size(), 1U) << framework_name(Framework(i));
  }
}

TEST(Shard, covers_every_item_exactly_once) {
  for (const std::uint64_t total : {0, 1, 7, 64, 1000}) {
    for (std::uint32_t ranks = 1; ranks <= 70; ++ranks) {
      std::uint64_t next = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const Shard shard = shard_of(total, rank, ranks);
        ASSERT_EQ(shard.begin, next);
        ASSERT_LE(shard.end - shard.begin, total / ranks + 1);
        ASSERT_GE(shard.end - shard.begin, total / ranks);
        next = shard.end;
      }
      ASSERT_EQ(next, total) << ranks << " ranks";
    }
  }
}

TEST(Shard, of_the_greatest_total_does_not_overflow) {
  const Shard last = shard_of(kMaxShardTotal, 9'999, 10'000);
  EXPECT_EQ(last, (Shard{kMaxShardTotal - kMaxShardTotal / 10'000, kMaxShardTotal}));
}

TEST(Shard, total_that_is_no_number_is_refused) {
  JobSpec spec = gang_of(Framework::kNone, {group_of("Worker", 3)});
  spec.env = {"TUTTI_SHARD_TOTAL=many"};
  const auto checked = validate(spec);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "env: TUTTI_SHARD_TOTAL='many' must be a number of items");
}

TEST(GangEnvironment, framework_that_names_listeners_needs_a_port) {
  JobSpec spec = gang_of(Framework::kTensorflow, {group_of("Chief", 1), group_of("Worker", 2)});
  spec.gang.workers[1].ranks.request.ports = 0;
  EXPECT_FALSE(validate(spec));
  spec.gang.framework = Framework::kPytorch;
  EXPECT_TRUE(validate(spec));
}

}  // namespace
}  // namespace tutti
