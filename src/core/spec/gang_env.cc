#include "core/spec/gang_env.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/spec/rank_programs.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// Linux takes at most 128 KiB in one variable. Thousands of ranks have more addresses.
constexpr std::size_t kLongestList = 100'000;

// A rank's place among the nodes of its gang.
struct Position {
  std::uint32_t local_rank = 0;
  std::uint32_t node_rank = 0;
  std::vector<std::uint32_t> sizes;    // ranks on each node, in the order of the first of them
  std::vector<std::string> addresses;  // of those nodes
};

// Where each rank is; and as frameworks see it, where each rank with devices is alone.
Position position_of(const GangPlaces& places, std::uint32_t rank, bool alone) {
  Position position;
  std::vector<std::string> nodes;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (places[i].node.empty() && !alone) continue;
    const std::string node = alone ? std::to_string(i) : places[i].node;
    auto found = std::find(nodes.begin(), nodes.end(), node);
    const auto at = static_cast<std::size_t>(found - nodes.begin());
    if (found == nodes.end()) {
      nodes.push_back(node);
      position.sizes.push_back(0);
      position.addresses.push_back(places[i].address);
    }
    if (i == rank) {
      position.local_rank = position.sizes[at];
      position.node_rank = static_cast<std::uint32_t>(at);
    }
    ++position.sizes[at];
  }
  return position;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : ",") + words[i];
  return out;
}

// "4,2(x3)", as Slurm writes how many tasks its nodes have.
std::string tasks_per_node(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < sizes.size();) {
    std::size_t equal = i;
    while (equal < sizes.size() && sizes[equal] == sizes[i]) ++equal;
    const std::string times = equal - i > 1 ? "(x" + std::to_string(equal - i) + ")" : "";
    words.push_back(std::to_string(sizes[i]) + times);
    i = equal;
  }
  return joined(words);
}

// The last value of a variable, or nothing.
const char* value_of(const std::vector<std::string>& env, std::string_view name) {
  for (auto entry = env.rbegin(); entry != env.rend(); ++entry) {
    if (entry->starts_with(name) && entry->size() > name.size() && (*entry)[name.size()] == '=')
      return entry->c_str() + name.size() + 1;
  }
  return nullptr;
}

// The environment of one rank while it is put together.
class RankEnvironment {
 public:
  RankEnvironment(JobId job, const JobSpec& spec, std::uint32_t rank, const GangPlaces& places)
      : job_(job), spec_(spec), gang_(spec.gang), rank_(rank), places_(places) {
    std::vector<RankGroup> groups;
    for (const WorkerGroup& group : gang_.workers) groups.push_back(group.ranks);
    in_group_ = position_of_rank(groups, rank);
    const bool devices = std::any_of(places.begin(), places.end(),
                                     [](const RankPlace& place) { return place.devices > 0; });
    real_ = position_of(places, rank, false);
    seen_ = position_of(places, rank, devices);
  }

  std::vector<std::string> take() && { return std::move(env_); }

  void add_neutral();
  void add_shard();
  void add_slurm();
  void add_sockets();
  void add_framework();

 private:
  // What was set before is replaced.
  void set(std::string_view name, const std::string& value) {
    std::string entry = std::string(name) + "=";
    const std::size_t size = entry.size();
    entry += value;
    const auto same = std::find_if(env_.begin(), env_.end(), [&](const std::string& other) {
      return other.compare(0, size, entry, 0, size) == 0;
    });
    if (same == env_.end()) {
      env_.push_back(std::move(entry));
    } else {
      *same = std::move(entry);
    }
  }
  void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }
  const WorkerGroup& group() const { return gang_.workers[in_group_.group]; }
  std::uint32_t world() const { return static_cast<std::uint32_t>(places_.size()); }
  std::string endpoint(std::uint32_t rank) const;
  void set_master();
  void set_jax_coordinator();

  void add_tensorflow();
  void add_pytorch();
  void add_jax();
  void add_jobset();
  void add_ray();
  void add_xgboost();
  void add_mpi();

  JobId job_;
  const JobSpec& spec_;
  const Gang& gang_;
  std::uint32_t rank_;
  const GangPlaces& places_;
  RankPosition in_group_;
  Position real_;
  Position seen_;  // by frameworks
  std::vector<std::string> env_;
};

// "address:port" of what a rank listens on; the address alone if it has no port.
std::string RankEnvironment::endpoint(std::uint32_t rank) const {
  const RankPlace& place = places_[rank];
  return place.ports.empty() ? place.address
                             : place.address + ":" + std::to_string(place.ports.front());
}

void RankEnvironment::add_neutral() {
  set("TUTTI_LOCAL_RANK", real_.local_rank);
  set("TUTTI_LOCAL_WORLD_SIZE", real_.sizes[real_.node_rank]);
  set("TUTTI_NODE_RANK", real_.node_rank);
  set("TUTTI_NODE_COUNT", real_.sizes.size());
  set("TUTTI_GROUP", group().name);
  set("TUTTI_GROUP_RANK", in_group_.index);
  set("TUTTI_GROUP_SIZE", group().ranks.count);
  set("TUTTI_MASTER_ADDR", places_.front().address);
  if (!places_.front().ports.empty()) set("TUTTI_MASTER_PORT", places_.front().ports.front());
  std::vector<std::string> hosts;
  for (const RankPlace& place : places_) hosts.push_back(place.address);
  const std::string list = joined(hosts);
  if (list.size() <= kLongestList) set("TUTTI_HOSTS", list);
}

void RankEnvironment::add_shard() {
  const char* text = value_of(group().env, kShardTotal);
  if (text == nullptr) text = value_of(spec_.env, kShardTotal);
  const auto total = text == nullptr ? std::nullopt : parse_digits(text, kMaxShardTotal);
  if (!total) return;  // validate() has refused what is no number
  const Shard shard = shard_of(*total, rank_, world());
  set("TUTTI_SHARD_BEGIN", shard.begin);
  set("TUTTI_SHARD_END", shard.end);
}

// Neither SLURM_JOBID nor SLURM_STEP_ID: by those MPI libraries take it that srun has started them.
void RankEnvironment::add_slurm() {
  const std::string nodes = joined(seen_.addresses);
  const std::string tasks = tasks_per_node(seen_.sizes);
  set("SLURM_JOB_ID", job_.value);
  set("SLURM_JOB_NAME", spec_.name);
  set("SLURM_PROCID", rank_);
  set("SLURM_LOCALID", seen_.local_rank);
  set("SLURM_NODEID", seen_.node_rank);
  for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS"})
    set(name, world());
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"})
    set(name, seen_.sizes.size());
  for (const char* name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"})
    set(name, nodes);
  for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"}) set(name, tasks);
  set("SLURM_NTASKS_PER_NODE", seen_.sizes[seen_.node_rank]);
  // Who recognises Slurm makes up a port from the job's number, unless it is told one.
  if (!places_.front().ports.empty()) {
    set("MASTER_PORT", places_.front().ports.front());
    set_jax_coordinator();
  }
}

void RankEnvironment::set_jax_coordinator() {
  set("JAX_COORDINATOR_ADDRESS", endpoint(0));
  const std::uint32_t devices = places_[rank_].devices;
  if (devices == 0) return;
  // All that the rank sees. By Slurm's variables it would take one alone.
  std::vector<std::string> numbers;
  for (std::uint32_t i = 0; i < devices; ++i) numbers.push_back(std::to_string(i));
  set("JAX_LOCAL_DEVICE_IDS", joined(numbers));
}

// On one node ranks talk over the loopback interface, also where its name has no address.
void RankEnvironment::add_sockets() {
  if (real_.sizes.size() != 1) return;
  for (const char* name : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}) {
    if (value_of(spec_.env, name) == nullptr) set(name, "lo");
  }
}

void RankEnvironment::set_master() {
  set("MASTER_ADDR", places_.front().address);
  if (!places_.front().ports.empty()) set("MASTER_PORT", places_.front().ports.front());
  set("WORLD_SIZE", world());
  set("RANK", rank_);
}

// The evaluator is told of the others, but it is none of the cluster.
void RankEnvironment::add_tensorflow() {
  std::string cluster;
  std::uint32_t first = 0;
  for (const WorkerGroup& group : gang_.workers) {
    std::vector<std::string> members;
    for (std::uint32_t i = 0; i < group.ranks.count; ++i)
      members.push_back('"' + endpoint(first + i) + '"');
    first += group.ranks.count;
    const std::string type = tensorflow_type(group.name);
    if (type == "evaluator") continue;
    cluster += (cluster.empty() ? "\"" : ",\"") + type + "\":[" + joined(members) + "]";
  }
  set("TF_CONFIG", "{\"cluster\":{" + cluster + "},\"task\":{\"type\":\"" +
                       tensorflow_type(group().name) +
                       "\",\"index\":" + std::to_string(in_group_.index) + "}}");
}

void RankEnvironment::add_pytorch() {
  set_master();
  set("LOCAL_RANK", seen_.local_rank);
  set("LOCAL_WORLD_SIZE", seen_.sizes[seen_.node_rank]);
  for (const char* name : {"NODE_RANK", "GROUP_RANK"}) set(name, seen_.node_rank);
  set("GROUP_WORLD_SIZE", seen_.sizes.size());
  // For a rank whose command is torchrun: it starts a process for each of the rank's devices.
  set("PET_NNODES", world());
  set("PET_NODE_RANK", rank_);
  set("PET_NPROC_PER_NODE", std::max(1U, places_[rank_].devices));
  set("PET_MASTER_ADDR", places_.front().address);
  if (!places_.front().ports.empty()) set("PET_MASTER_PORT", places_.front().ports.front());
}

void RankEnvironment::add_jax() {
  set_jax_coordinator();
  set("JAXOPERATOR_COORDINATOR_ADDRESS", endpoint(0));
  set("JAXOPERATOR_COORDINATOR_HOST", places_.front().address);
  for (const char* name : {"JAXOPERATOR_NUM_PROCESSES", "JAX_NUM_PROCESSES"}) set(name, world());
  for (const char* name : {"JAXOPERATOR_PROCESS_ID", "JAX_PROCESS_ID"}) set(name, rank_);
}

// Each group is a job of the set; equal jobs have one name.
void RankEnvironment::add_jobset() {
  const auto replicas =
      std::count_if(gang_.workers.begin(), gang_.workers.end(),
                    [&](const WorkerGroup& other) { return other.name == group().name; });
  set("JOBSET_NAME", spec_.name);
  set("JOB_COMPLETION_INDEX", in_group_.index);
  set("JOB_INDEX", group().replica);
  set("JOB_GLOBAL_INDEX", in_group_.group);
  set("GLOBAL_REPLICAS", gang_.workers.size());
  set("REPLICATED_JOB_NAME", group().name);
  set("REPLICATED_JOB_REPLICAS", static_cast<std::uint64_t>(replicas));
}

// For ray_rank.py, beside the neutral ones.
void RankEnvironment::add_ray() {
  set("TUTTI_RAY_NODE_ADDRESS", places_[rank_].address);
  set("TUTTI_RAY_GPUS", places_[rank_].devices);
  if (places_.front().ports.size() > kRayBell)
    set("TUTTI_RAY_BELL_PORT", places_.front().ports[kRayBell]);
}

// The tracker is run by rank 0, beside its own share of the work.
void RankEnvironment::add_xgboost() {
  set_master();
  set("DMLC_TRACKER_URI", places_.front().address);
  if (!places_.front().ports.empty()) set("DMLC_TRACKER_PORT", places_.front().ports.front());
  set("DMLC_NUM_WORKER", world());
  set("DMLC_NUM_SERVER", std::uint64_t{0});
  set("DMLC_TASK_ID", rank_);
  set("DMLC_ROLE", "worker");
}

// For mpi_rank.py, beside the neutral ones: how many processes mpirun starts in the rank, unless
// the job says it.
void RankEnvironment::add_mpi() {
  constexpr std::string_view kSlots = "TUTTI_MPI_SLOTS";
  if (value_of(spec_.env, kSlots) == nullptr) set(kSlots, std::max(1U, places_[rank_].devices));
}

void RankEnvironment::add_framework() {
  switch (gang_.framework) {
    case Framework::kTensorflow:
      return add_tensorflow();
    case Framework::kPytorch:
      return add_pytorch();
    case Framework::kJax:
      return add_jax();
    case Framework::kJobset:
      return add_jobset();
    case Framework::kXgboost:
      return add_xgboost();
    case Framework::kMpi:
      return add_mpi();
    case Framework::kRay:
      return add_ray();
    case Framework::kNone:
      break;
  }
}

}  // namespace

std::string tensorflow_type(std::string_view group) {
  std::string type;
  for (const char c : group) type += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return type == "master" ? "chief" : type;
}

Shard shard_of(std::uint64_t total, std::uint32_t rank, std::uint32_t ranks) {
  // Not total * rank / ranks, which would need more than 64 bits.
  const std::uint64_t each = total / ranks;
  const std::uint64_t more = total % ranks;  // the first so many ranks have one item more
  const std::uint64_t begin = each * rank + std::min<std::uint64_t>(rank, more);
  return {begin, begin + each + (rank < more ? 1 : 0)};
}

std::vector<std::string> gang_environment(JobId job, const JobSpec& spec, std::uint32_t rank,
                                          const GangPlaces& places) {
  RankEnvironment environment(job, spec, rank, places);
  environment.add_neutral();
  environment.add_shard();
  environment.add_sockets();
  // What Ray and mpirun start would be misled by ranks other than theirs.
  if (!has_rank_program(spec.gang.framework)) environment.add_slurm();
  environment.add_framework();
  return std::move(environment).take();
}

}  // namespace tutti
