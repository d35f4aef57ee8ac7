#include "core/spec/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/spec/validate.h"

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kFirst = R"(kind: AIchorManifest
apiVersion: 0.2.1

builder:
  image: tf-multi-jobs
  dockerfile: ./Dockerfile
  context: .

spec:
  operator: tf
  image: tf-multi-jobs
  command: "python -u src/main.py"

  types:
    Worker:
      count: 5
      resources:
        cpus: 1
        ramRatio: 1
        shmSizeGB: 0
)";

Manifest read(const std::string& text) {
  auto manifest = parse_manifest(text, "m.yaml");
  EXPECT_TRUE(manifest) << manifest.error().message;
  return manifest ? *manifest : Manifest();
}

std::string refusal(const std::string& text) {
  const auto manifest = parse_manifest(text, "m.yaml");
  return manifest ? "no error" : manifest.error().message;
}

// A manifest with these types, from line 4 on, under an operator.
std::string with(const std::string& framework, const std::string& types) {
  return "kind: AIchorManifest\nspec:\n  operator: " + framework +
         "\n  command: run\n  types: " + types + "\n";
}

const std::string kSmall = "resources: {cpus: 2, ramRatio: 2}";

std::vector<std::string> names(const Manifest& manifest) {
  std::vector<std::string> all;
  for (const WorkerGroup& group : manifest.spec.gang.workers) all.push_back(group.name);
  return all;
}

TEST(Manifest, of_five_workers_is_a_gang_of_five) {
  const Manifest manifest = read(kFirst);
  const JobSpec& spec = manifest.spec;
  EXPECT_THAT(manifest.notes, IsEmpty());
  EXPECT_EQ(spec.name, "tf-multi-jobs");
  EXPECT_EQ(spec.workdir, ".");
  EXPECT_THAT(spec.command.argv, ElementsAre("python", "-u", "src/main.py"));
  EXPECT_EQ(spec.tasks, (TaskSet{TaskSet::Shape::kGang, 5, 0, 1, 0}));
  EXPECT_EQ(spec.gang.framework, Framework::kTensorflow);
  EXPECT_EQ(spec.container, (Container{"tf-multi-jobs", "", {"./Dockerfile", ".", "", {}}, {}}));
  ASSERT_EQ(spec.gang.workers.size(), 1u);
  Request request;
  request.memory = MiB(1024);
  request.limit_cpus = request.limit_memory = true;
  request.ports = 1;
  EXPECT_EQ(spec.gang.workers[0].ranks, (RankGroup{5, 0, request, {}}));
  EXPECT_EQ(spec.request, request);
}

TEST(Manifest, has_every_field) {
  const Manifest manifest = read(R"(
kind: AIchorManifest
apiVersion: 0.2.2
builder:
  image: team/net:1
  dockerfile: docker/Dockerfile
  context: src
  target: train
  buildArgs: {A: 1, B: ""}
spec:
  operator: pytorch
  image: team/net:1
  command: [python, a b.py]
  tensorboard: {enabled: true}
  storage: {sharedVolume: {mountPoint: /mnt, sizeGB: 1}}
  env: {X: 1}
  timeout: 1d
  failurePolicy: continue
  types:
    worker:
      count: 3
      env: [{name: Y, value: "2"}]
      timeout: 6h
      failurePolicy: restartWorker(2)
      command: python worker.py
      image: team/net:1
      resources:
        cpus: 1.5
        cpuLimitRatio: 2.0
        memory: 4
        shmSizeGB: 0.5
        accelerators: {gpu: {count: 2, type: gpu, product: NVIDIA-A100-SXM4-80GB}}
    master:
      resources: {cpus: 4, memory: 512M}
)");
  EXPECT_EQ(manifest.notes.size(), 2u);
  const JobSpec& spec = manifest.spec;
  EXPECT_EQ(spec.name, "net");
  EXPECT_THAT(spec.command.argv, ElementsAre("python", "a b.py"));
  EXPECT_THAT(spec.env, ElementsAre("X=1"));
  EXPECT_EQ(spec.time_limit, seconds(86400));
  EXPECT_EQ(spec.container.build, (ImageBuild{"docker/Dockerfile", "src", "train", {"A=1", "B="}}));
  EXPECT_THAT(names(manifest), ElementsAre("Master", "Worker"));
  const WorkerGroup& master = spec.gang.workers[0];
  EXPECT_EQ(master.ranks.failure.kind, FailureRule::Kind::kContinue);
  EXPECT_EQ(master.ranks.request.memory, MiB(512));
  EXPECT_EQ(master.cpu_limit, MilliCpu(8000));
  EXPECT_TRUE(master.command.empty());
  const WorkerGroup& worker = spec.gang.workers[1];
  EXPECT_EQ(worker.ranks.count, 3u);
  EXPECT_EQ(worker.ranks.failure, (FailureRule{FailureRule::Kind::kRestart, 2}));
  EXPECT_EQ(worker.ranks.request.cpus, MilliCpu(1500));
  EXPECT_EQ(worker.ranks.request.memory, MiB(4096));
  EXPECT_EQ(worker.ranks.request.devices, (DeviceRequest{2, "A100-80G", {}, {}, Sharing::kNever}));
  EXPECT_EQ(worker.cpu_limit, MilliCpu(3000));
  EXPECT_EQ(worker.shared_memory, MiB(512));
  EXPECT_EQ(worker.time_limit, seconds(21600));
  EXPECT_THAT(worker.env, ElementsAre("Y=2"));
  EXPECT_THAT(worker.command.argv, ElementsAre("python", "worker.py"));
}

TEST(Manifest, memory_is_cores_times_ratio) {
  const auto memory = [](const std::string& resources) {
    return read(with("jax", "{Worker: {resources: {" + resources + "}}}")).spec.request.memory;
  };
  EXPECT_EQ(memory("cpus: 20, ramRatio: 2"), MiB(40 * 1024));
  EXPECT_EQ(memory("cpus: 0.5, ramRatio: 1.5"), MiB(768));
  EXPECT_EQ(memory("cpus: 1, memory: 4Gi"), MiB(4096));
}

TEST(Manifest, a_job_set_has_a_group_for_each_of_its_jobs) {
  const Manifest manifest = read(with(
      "jobset", "{heavy: {" + kSmall + "}, worker: {count: 2, completions: 10, parallelisms: 3, " +
                    kSmall + "}}"));
  EXPECT_THAT(names(manifest), ElementsAre("heavy", "worker", "worker"));
  const auto& groups = manifest.spec.gang.workers;
  EXPECT_EQ(groups[0].ranks.count, 1u);
  EXPECT_EQ(groups[0].ranks.parallel, 0u);
  EXPECT_EQ(groups[1].replica, 0u);
  EXPECT_EQ(groups[2].replica, 1u);
  EXPECT_EQ(groups[2].ranks.count, 10u);
  EXPECT_EQ(groups[2].ranks.parallel, 3u);
  EXPECT_EQ(manifest.spec.tasks.count, 21u);
}

TEST(Manifest, completions_of_a_batch_job_run_one_after_the_other_unless_it_says_so) {
  const auto groups =
      read(with("batchjob", "{w: {completions: 4, " + kSmall + "}}")).spec.gang.workers;
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].ranks.parallel, 1u);
}

TEST(Manifest, of_ray_has_a_head_and_groups_of_workers) {
  const Manifest manifest =
      read(with("kuberay", "{Workers: [{count: 2, " + kSmall + "}, {name: gpu, count: 3, " +
                               kSmall + "}], Head: {" + kSmall + "}}"));
  EXPECT_THAT(names(manifest), ElementsAre("Head", "Workers-1", "gpu"));
  EXPECT_EQ(manifest.spec.gang.framework, Framework::kRay);
  EXPECT_EQ(manifest.spec.tasks.count, 6u);
}

TEST(Manifest, without_an_image_has_no_container) {
  EXPECT_EQ(read(with("mpi", "{Worker: {" + kSmall + "}}")).spec.container, Container());
}

TEST(Manifest, is_complete_after_its_paths_are) {
  for (const std::string& text : {std::string(kFirst), with("ray", "{Head: {" + kSmall + "}}")}) {
    JobSpec spec = read(text).spec;
    spec.workdir = "/";
    if (!spec.container.image.empty()) {
      spec.container.build.dockerfile = "/Dockerfile";
      spec.container.build.context = "/";
    }
    fill_defaults(spec);
    const auto checked = validate(spec);
    EXPECT_TRUE(checked) << checked.error().message;
  }
}

TEST(Manifest, an_unknown_field_is_named_with_its_line_and_the_nearest_one) {
  std::string text = kFirst;
  text.replace(text.find("ramRatio"), 8, "ramRatoi");
  EXPECT_EQ(refusal(text),
            "m.yaml:19:9: unknown field 'ramRatoi' in resources, did you mean 'ramRatio'?");
  EXPECT_EQ(refusal("kind: AIchorManifest\nbuidler: {}\n"),
            "m.yaml:2:1: unknown field 'buidler' in a manifest, did you mean 'builder'?");
}

TEST(Manifest, an_unknown_field_that_is_near_none_is_answered_with_all) {
  EXPECT_EQ(refusal("kind: AIchorManifest\nversion: 1\n"),
            "m.yaml:2:1: unknown field 'version' in a manifest; there are kind, apiVersion, "
            "builder, spec");
}

TEST(Manifest, faults_name_their_place) {
  const std::string worker = "{Worker: {" + kSmall + "}}";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"kind: Other\nspec: {}\n", "m.yaml:1:7: kind must be AIchorManifest"},
      {with("tf", "{Worker: {}}"), "Worker has no resources"},
      {"spec: {operator: tf, command: a, types: " + worker + "}\n", "no kind"},
      {"kind: AIchorManifest\n", "no spec"},
      {"kind: AIchorManifest\napiVersion: new\n", "apiVersion 'new'"},
      {"kind: AIchorManifest\nspec: []\n", "spec is a list"},
      {"kind: AIchorManifest\nspec: {types: " + worker + "}\n", "no operator"},
      {"kind: AIchorManifest\nspec: {operator: tf}\n", "no types"},
      {"kind: AIchorManifest\nspec: {operator: tf, types: " + worker + "}\n", "has no command"},
      {"kind: AIchorManifest\nbuilder: {}\n", "builder has no image"},
      {with("tff", worker), "m.yaml:3:13: operator: framework 'tff' is not known, did you mean"},
      {with("tf", "{}"), "types must name at least one type"},
      {with("tf", "{Wroker: {" + kSmall + "}}"), "unknown type 'Wroker', did you mean 'Worker'?"},
      {with("jax", "{PS: {" + kSmall + "}}"), "operator jax has Worker"},
      {with("tf", "{Worker: {" + kSmall + "}, worker: {" + kSmall + "}}"), "given twice"},
      {with("tf", "{Chief: {" + kSmall + "}, Master: {" + kSmall + "}}"),
       "Chief and Master are the same; keep one"},
      {with("tf", "{Worker: [{" + kSmall + "}]}"), "Worker is a list; write a mapping"},
      {with("tf", "{Worker: {count: 0, " + kSmall + "}}"), "count '0'"},
      {with("tf", "{Worker: {count: 10001, " + kSmall + "}}"), "count '10001'"},
      {with("jobset", "{w: {count: 200, completions: 100, " + kSmall + "}}"), "20000 workers"},
      {with("tf", "{Worker: {completions: 2, " + kSmall + "}}"), "are for the operators"},
      {with("jobset", "{w: {completions: 2, parallelisms: 3, " + kSmall + "}}"), "more than comp"},
      {with("pytorch", "{Master: {count: 2, " + kSmall + "}}"), "there is one of it"},
      {with("ray", "{Workers: {" + kSmall + "}}"), "has no Head"},
      {with("ray", "{Head: {" + kSmall + "}, Workers: []}"), "empty list"},
      {with("tf", "{Worker: {name: x, " + kSmall + "}}"), "only the Workers of Ray"},
      {with("tf", "{Worker: {image: other, " + kSmall + "}}"), "all workers run in one image"},
      {with("tf", "{Worker: {timeout: soon, " + kSmall + "}}"), "timeout 'soon'"},
      {with("tf", "{Worker: {timeout: 0, " + kSmall + "}}"), "timeout: must be more than zero"},
      {with("tf", "{Worker: {failurePolicy: retry, " + kSmall + "}}"),
       "failure rule 'retry': write"},
      {with("tf", "{Worker: {failurePolicy: failfast, " + kSmall + "}}"),
       "failure rule 'failfast', did you mean 'failFast'?"},
      {with("tf", "{Worker: {env: {A: [1]}, " + kSmall + "}}"), "env A is a list"},
      {with("tf", "{Worker: {env: [{name: A}], " + kSmall + "}}"), "a name without"},
      {with("tf", "{Worker: {resources: {ramRatio: 1}}}"), "resources has no cpus"},
      {with("tf", "{Worker: {resources: {cpus: 1}}}"), "exactly one of ramRatio"},
      {with("tf", "{Worker: {resources: {cpus: 1, ramRatio: 1, memory: 1}}}"), "exactly one of"},
      {with("tf", "{Worker: {resources: {cpus: 1, ramRatio: 0}}}"), "ramRatio '0'"},
      {with("tf", "{Worker: {resources: {cpus: 1, ramRatio: 1G}}}"), "ramRatio '1G'"},
      {with("tf", "{Worker: {resources: {cpus: 1000000, ramRatio: 1000000000}}}"), "any machine"},
      {with("tf", "{Worker: {resources: {cpus: 1, ramRatio: 1, cpuLimitRatio: 0.5}}}"),
       "cpuLimitRatio '0.5'"},
      {with("tf",
            "{Worker: {resources: {cpus: 1, ramRatio: 1, accelerators: {gpu: {type: mig, "
            "count: 1}}}}}"),
       "type 'mig'"},
      {"kind: AIchorManifest\nbuilder: {image: a}\nspec: {operator: tf, image: b, command: c, "
       "types: " +
           worker + "}\n",
       "is not what builder makes"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(refusal(text), HasSubstr(message)) << text;
    EXPECT_THAT(refusal(text), StartsWith("m.yaml:")) << text;
    EXPECT_EQ(refusal(text).find("m.yaml", 1), std::string::npos) << refusal(text);
  }
}

TEST(Manifest, gpus_of_which_none_are_wanted_are_none) {
  const Manifest manifest =
      read(with("tf",
                "{Worker: {resources: {cpus: 1, ramRatio: 1, accelerators: {gpu: {count: 0, "
                "type: gpu, product: Quadro-RTX-4000}}}}}"));
  EXPECT_EQ(manifest.spec.request.devices, DeviceRequest());
}

}  // namespace
}  // namespace tutti
