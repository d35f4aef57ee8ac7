#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>

#include "cli/testing/scripted_verbs.h"
#include "core/spec/command_line.h"
#include "wire/job_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kManifest = R"(kind: AIchorManifest
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

constexpr const char* kTwoGroups = R"(command: python train.py
framework: pytorch
workers:
  Master: {cpus: 4, time: 1h, env: {A: 1, B: 2}}
  Worker: {count: 2, gpus: A100, labels: [ssd]}
)";

class ManifestVerbs : public ScriptedVerbs {
 protected:
  ManifestVerbs() {
    daemon->answers["POST /v1/jobs"] = R"({"id":5,"ids":[5]})";
    daemon->answers["POST /v1/jobs?dry_run=1"] = R"({"dry_run":true,"explanations":[]})";
    for (const char* context : {"", "sub/", "c/"})
      file(std::string(context) + "Dockerfile", "FROM x");
    const char* const path = ::getenv("PATH");
    path_ = path == nullptr ? "" : path;
    ::setenv("PATH", (folder + "/bin:" + path_).c_str(), 1);
    has_images(true);
  }
  ~ManifestVerbs() override { ::setenv("PATH", path_.c_str(), 1); }

  // A podman that has every image, or none.
  void has_images(bool all) const {
    const std::string program = file("bin/podman", all ? "#!/bin/sh\n" : "#!/bin/sh\nexit 1\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  // The job that the daemon was sent.
  JobSpec sent() const {
    const auto spec = spec_from_json(body());
    EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
    return spec ? *spec : JobSpec();
  }

 private:
  std::string path_;
};

TEST_F(ManifestVerbs, a_manifest_is_submitted_as_a_gang_in_its_folder) {
  EXPECT_EQ(call({"submit", file("sub/manifest.yaml", kManifest)}), 0);
  const JobSpec spec = sent();
  EXPECT_EQ(spec.tasks, (TaskSet{TaskSet::Shape::kGang, 5, 0, 1, 0}));
  EXPECT_EQ(spec.gang.framework, Framework::kTensorflow);
  EXPECT_THAT(spec.command.argv, ElementsAre("python", "-u", "src/main.py"));
  EXPECT_EQ(spec.workdir, folder + "/sub");
  EXPECT_THAT(spec.container.image, StartsWith("tutti/tf-multi-jobs:"));
  EXPECT_EQ(spec.container.build,
            (ImageBuild{folder + "/sub/Dockerfile", folder + "/sub", "", {}}));
  EXPECT_EQ(screen.out_text, "Submitted job 5 (tf-multi-jobs).\n");
  EXPECT_THAT(screen.err_text, IsEmpty());
}

TEST_F(ManifestVerbs, an_image_that_is_not_there_is_built_by_a_job_before_it) {
  has_images(false);
  EXPECT_EQ(call({"submit", file("manifest.yaml", kManifest)}), 0);
  ASSERT_EQ(sent().after.size(), 1u);
  EXPECT_EQ(sent().after[0].job, JobId(5));
  EXPECT_THAT(screen.err_text, HasSubstr("job 5 builds the image tutti/tf-multi-jobs:"));
  const auto build = spec_from_json(json::parse(asked.bodies["POST /v1/jobs"].front()));
  ASSERT_TRUE(build) << build.error().message;
  EXPECT_THAT(command_text(build->command), StartsWith("tutti-container build "));
  EXPECT_EQ(build->time_limit, seconds(6 * 3600));
}

TEST_F(ManifestVerbs, ctrl_c_cancels_the_job_and_what_builds_its_image) {
  class Interrupted : public FakeClient {
   public:
    using FakeClient::FakeClient;
    Result<void> stream(std::string_view target, StreamListener& listener) override {
      ::raise(SIGINT);
      listener.on_wake();
      return FakeClient::stream(target, listener);
    }
  };
  has_images(false);
  auto client = std::make_unique<Interrupted>(asked);
  client->answers = daemon->answers;
  client->answers["POST /v1/cancel"] = R"({"tasks":2,"jobs":[6,5]})";
  client->first_answers["POST /v1/jobs"] = {R"({"id":5,"ids":[5]})", R"({"id":6,"ids":[6]})"};
  client->streams["/v1/jobs/6/stream?logs=1&task=0,1,2,3,4"] = {
      {"end", R"({"id":6,"state":"cancelled","exit_code":130})"}};
  session.use_client(std::move(client));
  EXPECT_EQ(call({"run", file("manifest.yaml", kManifest)}), 130) << screen.err_text;
  EXPECT_EQ(asked.bodies["POST /v1/cancel"],
            std::vector<std::string>{R"({"jobs":[{"id":6},{"id":5}]})"});
}

TEST_F(ManifestVerbs, nothing_is_built_for_a_job_that_the_daemon_refuses) {
  has_images(false);
  daemon->answers["POST /v1/jobs?dry_run=1"] =
      R"({"error":{"code":"invalid_input","message":"no room"}})";
  EXPECT_EQ(call({"run", file("manifest.yaml", kManifest)}), 1);
  EXPECT_EQ(screen.err_text, "tutti run: " + folder + "/manifest.yaml: no room\n");
  EXPECT_THAT(asked.requests, ElementsAre("POST /v1/jobs?dry_run=1"));
}

TEST_F(ManifestVerbs, a_manifest_without_its_dockerfile_is_refused) {
  std::filesystem::remove(folder + "/Dockerfile");
  EXPECT_EQ(call({"submit", file("manifest.yaml", kManifest)}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("there is no Dockerfile"));
}

TEST_F(ManifestVerbs, without_a_container_its_commands_are_processes_and_it_says_so) {
  EXPECT_EQ(call({"submit", "--no-container", file("manifest.yaml", kManifest)}), 0);
  EXPECT_EQ(sent().container, Container());
  EXPECT_THAT(screen.err_text, HasSubstr("image 'tf-multi-jobs' is not used"));
}

TEST_F(ManifestVerbs, what_has_no_effect_is_told) {
  const std::string text = std::string(kManifest) + "  tensorboard: {enabled: true}\n";
  EXPECT_EQ(call({"submit", "-q", file("manifest.yaml", text)}), 0);
  EXPECT_THAT(screen.err_text, HasSubstr("manifest.yaml: tensorboard has no effect"));
  EXPECT_EQ(screen.out_text, "5\n");
}

TEST_F(ManifestVerbs, a_limit_of_cores_stays_so_many_times_what_is_asked_for) {
  EXPECT_EQ(call({"submit", "--cpus", "3", file("manifest.yaml", kManifest)}), 0);
  EXPECT_EQ(sent().gang.workers[0].cpu_limit, MilliCpu(6000));
}

TEST_F(ManifestVerbs, the_command_line_wins_over_every_group) {
  EXPECT_EQ(call({"submit", "--cpus", "2", "--mem", "1G", "--time", "5m", "--gpu-mem", "4G",
                  "--env", "A=9", "--name", "n", file("job.yaml", kTwoGroups)}),
            0);
  const JobSpec spec = sent();
  EXPECT_EQ(spec.name, "n");
  EXPECT_EQ(spec.time_limit, seconds(300));
  for (const WorkerGroup& group : spec.gang.workers) {
    EXPECT_EQ(group.ranks.request.cpus, MilliCpu(2000));
    EXPECT_EQ(group.ranks.request.memory, MiB(1024));
    EXPECT_EQ(group.time_limit, Duration(0));
  }
  EXPECT_EQ(spec.gang.workers[0].ranks.request.devices, DeviceRequest());
  EXPECT_THAT(spec.gang.workers[0].env, ElementsAre("B=2"));
  EXPECT_EQ(spec.gang.workers[1].ranks.request.devices.memory, MiB(4096));
}

TEST_F(ManifestVerbs, labels_of_the_command_line_are_for_all_groups) {
  EXPECT_EQ(call({"submit", "--label", "fast", file("job.yaml", kTwoGroups)}), 0);
  for (const WorkerGroup& group : sent().gang.workers)
    EXPECT_THAT(group.ranks.request.labels, ElementsAre("fast"));
}

TEST_F(ManifestVerbs, groups_keep_what_the_command_line_does_not_say) {
  EXPECT_EQ(call({"submit", file("job.yaml", kTwoGroups)}), 0);
  const auto workers = sent().gang.workers;
  EXPECT_EQ(workers[0].time_limit, seconds(3600));
  EXPECT_THAT(workers[0].env, ElementsAre("A=1", "B=2"));
  EXPECT_THAT(workers[1].ranks.request.labels, ElementsAre("ssd"));
  EXPECT_EQ(workers[1].ranks.request.devices, (DeviceRequest{1, "A100", {}, {}, Sharing::kNever}));
}

TEST_F(ManifestVerbs, mounts_of_a_job_file_start_beside_it) {
  const std::string path = file("job.yaml",
                                "command: a\nimage: x\ncontainer:\n  mounts: [data:/d:ro, /a:/b]\n"
                                "  build: {context: c}\n");
  EXPECT_EQ(call({"submit", path}), 0);
  EXPECT_THAT(sent().container.mounts, ElementsAre(folder + "/data:/d:ro", "/a:/b"));
  EXPECT_EQ(sent().container.build.context, folder + "/c");
}

TEST_F(ManifestVerbs, a_dry_run_lists_the_ranks) {
  EXPECT_EQ(call({"submit", "--dry-run", file("job.yaml", kTwoGroups)}), 0);
  EXPECT_EQ(screen.out_text,
            "Nothing was submitted.\n"
            "3 workers of pytorch\n"
            "RANK  GROUP     CPUS  MEM  PORTS  FAILURE   GPUS\n"
            "   0  Master 0     4    -      1  failFast  -\n"
            "   1  Worker 0     1    -      1  failFast  1 × A100\n"
            "   2  Worker 1     1    -      1  failFast  1 × A100\n");
}

TEST_F(ManifestVerbs, a_dry_run_tells_of_the_image_and_of_jobs_in_a_set) {
  std::string text = kManifest;
  text.replace(text.find("operator: tf"), 12, "operator: jobset");
  text.replace(text.find("count: 5"), 8, "count: 2");
  EXPECT_EQ(call({"run", "--dry-run", file("manifest.yaml", text)}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("2 workers of jobset in tutti/tf-multi-jobs:"));
  EXPECT_THAT(screen.out_text, HasSubstr("   1  Worker[1] 0     1   1G"));
}

TEST_F(ManifestVerbs, a_dry_run_of_waves_says_how_many_run_first) {
  daemon->answers["POST /v1/jobs?dry_run=1"] =
      R"({"explanations":[],"plans":[[{"rank":0,"group":"w","node":"a","env":[]}]]})";
  const char* const waves = "command: a\nworkers: {w: {count: 3, parallel: 1}}\n";
  EXPECT_EQ(call({"submit", "--dry-run", file("job.yaml", waves)}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("\nStarted now, 1 of them would run first, here:\n"));
}

TEST_F(ManifestVerbs, a_dry_run_in_json_is_the_daemons_answer_alone) {
  EXPECT_EQ(call({"submit", "--dry-run", "--json", file("job.yaml", kTwoGroups)}), 0);
  EXPECT_THAT(screen.out_text, Not(HasSubstr("RANK")));
}

TEST_F(ManifestVerbs, run_says_which_rank_failed_first_and_how) {
  daemon->streams["/v1/jobs/5/stream?logs=1&task=0,1,2"] = {
      {"end", R"({"id":5,"state":"failed","shape":"gang","tasks":3,"exit_code":7,)"
              R"("counts":{"failed":22,"cancelled":1}})"}};
  daemon->answers["GET /v1/jobs/5/tasks?state=failed&limit=1000"] =
      R"({"tasks":[{"task":1,"state":"failed","ending":"exited","exit_code":7,"command":"x"},)"
      R"({"task":2,"state":"failed","ending":"timeout","exit_code":124,"message":"too late"}]})";
  EXPECT_EQ(call({"run", file("job.yaml", kTwoGroups)}), 7);
  EXPECT_EQ(screen.err_text,
            "tutti: job 5: rank 1 failed first (exit 7); see 'tutti logs 5.1'\n"
            "tutti: 21 more failed: see 'tutti show 5'\n");
}

TEST_F(ManifestVerbs, more_ranks_than_can_be_followed_run_without_their_output) {
  daemon->streams["/v1/jobs/5/stream"] = {
      {"end", R"({"id":5,"state":"failed","shape":"gang","tasks":2000,"exit_code":7})"}};
  const std::string path = file("job.yaml", "command: x\nworkers: 2000\n");
  EXPECT_EQ(call({"run", path}), 7);
  EXPECT_THAT(screen.err_text, StartsWith("tutti: job 5 has 2,000 ranks, too many to show"));
  EXPECT_EQ(call({"submit", "-f", path}), 7);
  screen.err_text.clear();
  daemon->answers["GET /v1/jobs/5"] = "{}";
  EXPECT_EQ(call({"run", "--json", path}), 7);
  EXPECT_THAT(screen.err_text, IsEmpty());
}

TEST_F(ManifestVerbs, show_tells_what_each_group_wants) {
  daemon->answers["GET /v1/jobs/5"] =
      R"({"id":5,"state":"queued","shape":"gang","tasks":3,"cpus":4,"spec":{"command":"x",)"
      R"("framework":"pytorch","container":{"image":"a/b:1"},"time":"1d","workers":[)"
      R"({"name":"Master","cpus":1,"mem":"256M","time":"2h"},{"name":"Worker","count":2,)"
      R"_("cpus":0.5,"gpus":"A100","failure":"restartWorker(3)"}]}})_";
  daemon->answers["GET /v1/jobs/5/tasks?limit=64"] = R"({"tasks":[]})";
  EXPECT_EQ(call({"show", "5"}), 0);
  EXPECT_THAT(screen.out_text,
              HasSubstr("  gang       3 workers of pytorch in a/b:1\n"
                        "  request    1 × Master: 1 core, 256M memory, at most 2h, failFast\n"
                        "  request    2 × Worker: 0.5 cores, GPUs 1 × A100, restartWorker(3)\n"
                        "  time limit 1d\n"));
  EXPECT_THAT(screen.out_text, Not(HasSubstr("4 cores")));
}

TEST_F(ManifestVerbs, what_is_set_for_the_job_is_told_apart_for_its_workers) {
  const char* const text = "command: a\nworkers: 2\nenv: {OF_JOB: 1}\n";
  EXPECT_EQ(call({"submit", "--env", "MINE=2", file("job.yaml", text)}), 0);
  EXPECT_THAT(sent().remote_env, ElementsAre("OF_JOB=1", "MINE=2"));
}

TEST_F(ManifestVerbs, faults_name_file_and_line) {
  std::string text = kManifest;
  text.replace(text.find("ramRatio"), 8, "ramRatoi");
  EXPECT_EQ(call({"submit", file("manifest.yaml", text)}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("manifest.yaml:16:9: unknown field 'ramRatoi'"));
  EXPECT_THAT(screen.err_text, HasSubstr("did you mean 'ramRatio'?"));
  EXPECT_EQ(call({"submit", "--array", "1-3", file("job.yaml", kTwoGroups)}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:3: workers cannot be combined with array"));
  const std::string two = file("two.yaml", "jobs:\n- command: a\n- command: b\n  array: 1-2\n");
  EXPECT_EQ(call({"submit", "-o", "x.txt", two}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("two.yaml:3: "));
}

TEST_F(ManifestVerbs, what_the_daemon_refuses_names_the_file) {
  daemon->first_answers["POST /v1/jobs"] = {R"({"error":{"code":"invalid_input","message":"no"}})"};
  EXPECT_EQ(call({"submit", file("job.yaml", kTwoGroups)}), 1);
  EXPECT_EQ(screen.err_text, "tutti submit: " + folder + "/job.yaml: no\n");
}

}  // namespace
}  // namespace tutti
