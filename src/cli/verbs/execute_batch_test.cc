#include <gmock/gmock.h>

#include <csignal>

#include "cli/testing/scripted_verbs.h"

namespace tutti {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string node(const std::string& name, const std::string& gpus, const std::string& second) {
  return R"({"name":")" + name + R"(","address":"ben@)" + name +
         R"(","state":"up","cpus":24,"memory_mib":32000,"max_jobs":7,"jobs":0,"devices":[],)"
         R"("measured":{"at":"2027-01-15T07:59:)" +
         second +
         R"(.000000Z","cpus":24,"busy_cpus":2.976,"memory_mib":32000,)"
         R"("available_mib":30607,"gpus":[)" +
         gpus + "]}}";
}
constexpr const char* kTwoGpus = R"({"index":0,"used_mib":0,"memory_mib":5931,"utilization":0},)"
                                 R"({"index":1,"used_mib":0,"memory_mib":5931,"utilization":0})";

std::string nodes(const std::string& list) {
  return R"({"nodes":[)" + list + "]}";
}

std::string task(int label, int line, const std::string& state, const std::string& gpu) {
  return R"({"task":)" + std::to_string(label) + R"(,"line":)" + std::to_string(line) +
         R"(,"command":"echo )" + std::to_string(line) + R"(","state":")" + state +
         R"(","started_at":"2027-01-15T07:59:00.000000Z","devices":[)" + gpu + "]}";
}

// A folder with a batch of three lines, and a daemon with one machine that is known and measured.
class ExecuteBatch : public ScriptedVerbs {
 protected:
  ExecuteBatch() : before_(fs::current_path()) {
    fs::current_path(folder);
    file("example/batch.sh", "echo 1\n\n# no job\necho 4\necho 5\n");
    file("m.yaml", "username: ben\nip: box\n");
    measured(kTwoGpus);
    daemon->answers["POST /v1/nodes/box/check"] = "{}";
    daemon->answers["GET /v1/status"] = R"({"home":"/nowhere"})";
    daemon->answers["POST /v1/snapshots"] = R"({"digest":"abc","missing":[]})";
    daemon->answers["POST /v1/jobs"] = R"({"id":9,"ids":[9]})";
    tasks(task(1, 1, "succeeded", "\"0\"") + "," + task(2, 4, "succeeded", "\"1\"") + "," +
          task(3, 5, "succeeded", "\"0\""));
    daemon->streams["/v1/jobs/9/stream"] = {{"end", R"({"id":9,"state":"succeeded","tasks":3})"}};
  }
  ~ExecuteBatch() override { fs::current_path(before_); }

  void measured(const std::string& gpus) {
    daemon->first_answers["GET /v1/nodes"] = {nodes(node("box", gpus, "00")),
                                              nodes(node("box", gpus, "00"))};
    daemon->answers["GET /v1/nodes"] = nodes(node("box", gpus, "30"));
  }
  void tasks(const std::string& list) {
    for (int from = 1; from <= 4; ++from) {
      daemon->answers["GET /v1/jobs/9/tasks?from=" + std::to_string(from) + "&limit=1000"] =
          R"({"tasks":[)" + list + R"(],"next_from":null})";
    }
  }
  // What became of the task of an earlier job that a line was.
  void earlier(int line, const std::string& state) {
    file("job_results/.tutti/example_batch.sh." + std::to_string(line), "5 1\n");
    daemon->answers["GET /v1/jobs/5/tasks?from=1&limit=1"] =
        R"({"tasks":[)" + task(1, line, state, "") + "]}";
  }
  int batch(Words more = {}) {
    Words words = {"execute_batch", "example/batch.sh", "--machines", "m.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  json::value job() const { return json::parse(asked.bodies.at("POST /v1/jobs").back()); }
  bool submitted() const { return asked.bodies.contains("POST /v1/jobs"); }

  fs::path before_;
};

TEST_F(ExecuteBatch, prints_limits_choices_and_what_happens_to_each_line) {
  EXPECT_EQ(batch(), 0) << screen.err_text;
  EXPECT_EQ(screen.out_text,
            "machine limits:  {'m.yaml': 2}\n"
            "machine gpu choices: [[0, 1]]\n"
            "started: example_batch.sh.1;  export CUDA_VISIBLE_DEVICES=0 && echo 1\n"
            "finished: example_batch.sh.1; echo 1\n"
            "started: example_batch.sh.4;  export CUDA_VISIBLE_DEVICES=1 && echo 4\n"
            "finished: example_batch.sh.4; echo 4\n"
            "started: example_batch.sh.5;  export CUDA_VISIBLE_DEVICES=0 && echo 5\n"
            "finished: example_batch.sh.5; echo 5\n");
}

TEST_F(ExecuteBatch, is_one_job_for_its_machines_with_defaults_and_results) {
  batch();
  const std::string results = folder + "/job_results/example_batch.sh.%l";
  EXPECT_EQ(job().at("lines"), (json::array{"echo 1", "echo 4", "echo 5"}));
  EXPECT_EQ(job().at("line_numbers"), (json::array{1, 4, 5}));
  EXPECT_EQ(job().at("labels"), json::array{"box"});
  EXPECT_EQ(job().at("cpus"), 1.0);
  EXPECT_EQ(job().at("mem"), 7000);
  EXPECT_EQ(job().at("gpu_mem"), 1000);
  EXPECT_EQ(job().at("share"), "never");
  EXPECT_EQ(job().at("output").as_string(), results + ".out");
  EXPECT_EQ(job().at("error").as_string(), results + ".err");
  EXPECT_EQ(job().at("results").at("folder").as_string(), results);
  EXPECT_EQ(job().at("results").at("paths"), json::array{"."});
  EXPECT_EQ(job().at("snapshot"), "abc");
}

TEST_F(ExecuteBatch, its_slots_are_limits_of_the_job_and_the_machine_keeps_its_own) {
  batch();
  EXPECT_EQ(job().at("node_limits"), (json::object{{"box", 2}}));
  EXPECT_THAT(asked.requests, Not(Contains(HasSubstr("/limit"))));
}

TEST_F(ExecuteBatch, results_are_not_copied_to_the_machine_again) {
  file("job_results/other.sh.1/big", "x");
  batch();
  EXPECT_THAT(asked.bodies["POST /v1/snapshots"].back(), Not(HasSubstr("job_results")));
}

TEST_F(ExecuteBatch, copies_only_what_it_was_told_to) {
  file("src/a.py", "a");
  file("data/b", "b");
  batch({"--copy-forward", "./src/", "--copy-backwards", "out"});
  EXPECT_THAT(asked.bodies["POST /v1/snapshots"].back(), HasSubstr("src/a.py"));
  EXPECT_THAT(asked.bodies["POST /v1/snapshots"].back(), Not(HasSubstr("data/b")));
  EXPECT_EQ(job().at("results").at("paths"), json::array{"out"});
  EXPECT_EQ(batch({"--copy-forward", "../x"}), 2);
}

TEST_F(ExecuteBatch, what_is_to_be_copied_must_be_there) {
  EXPECT_EQ(batch({"--copy-forward", "example", "nothere"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("copy-forward 'nothere': there is no such file"));
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(ExecuteBatch, a_failed_line_is_said_and_is_the_exit_status) {
  tasks(task(1, 1, "succeeded", "") + "," + task(2, 4, "failed", "") + "," +
        task(3, 5, "succeeded", ""));
  daemon->streams["/v1/jobs/9/stream"] = {{"end", R"({"id":9,"state":"failed","tasks":3})"}};
  EXPECT_EQ(batch(), 1);
  EXPECT_THAT(screen.out_text, HasSubstr("failed: example_batch.sh.4; echo 4\n"));
}

TEST_F(ExecuteBatch, lines_with_results_are_skipped_with_the_warning) {
  file("job_results/example_batch.sh.4/x", "kept");
  EXPECT_EQ(batch(), 0);
  EXPECT_THAT(screen.out_text,
              HasSubstr("WARNING: job results already exists for line 4, skipping evaluation: "
                        "delete if you wish to rerun\n"));
  EXPECT_EQ(job().at("line_numbers"), (json::array{1, 5}));
  EXPECT_TRUE(fs::exists("job_results/example_batch.sh.4/x"));
}

TEST_F(ExecuteBatch, when_all_have_results_nothing_is_submitted) {
  for (const char* line : {"1", "4", "5"})
    file("job_results/example_batch.sh." + std::string(line) + ".out", "");
  EXPECT_EQ(batch(), 0);
  EXPECT_FALSE(submitted());
}

TEST_F(ExecuteBatch, a_failed_result_is_no_result_but_is_kept_until_asked) {
  file("job_results/example_batch.sh.4.out", "crash");
  earlier(4, "failed");
  EXPECT_EQ(batch(), 1);
  EXPECT_THAT(screen.out_text, HasSubstr("WARNING: line 4 failed before"));
  EXPECT_EQ(job().at("line_numbers"), (json::array{1, 5}));
}

TEST_F(ExecuteBatch, failed_lines_run_again_when_asked) {
  file("job_results/example_batch.sh.4.out", "crash");
  earlier(4, "failed");
  EXPECT_EQ(batch({"--rerun-failed"}), 0);
  EXPECT_EQ(job().at("line_numbers"), (json::array{1, 4, 5}));
  EXPECT_FALSE(fs::exists("job_results/example_batch.sh.4.out"));
}

TEST_F(ExecuteBatch, a_half_copied_result_does_not_count) {
  file("job_results/example_batch.sh.4.partial/x", "half");
  EXPECT_EQ(batch(), 0);
  EXPECT_EQ(job().at("line_numbers"), (json::array{1, 4, 5}));
}

TEST_F(ExecuteBatch, a_line_that_is_still_under_way_is_not_started_twice) {
  earlier(4, "running");
  EXPECT_EQ(batch(), 1);
  EXPECT_THAT(screen.out_text, HasSubstr("line 4 is still under way"));
  EXPECT_EQ(job().at("line_numbers"), (json::array{1, 5}));
}

TEST_F(ExecuteBatch, remembers_which_job_a_line_was) {
  batch();
  std::ifstream record("job_results/.tutti/example_batch.sh.4");
  std::string text;
  std::getline(record, text);
  EXPECT_EQ(text, "9 2");
}

TEST_F(ExecuteBatch, a_batch_that_fits_nowhere_says_why) {
  EXPECT_EQ(batch({"--gpu-memory-required=9000"}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("fits on none of the machines"));
  EXPECT_THAT(screen.err_text, HasSubstr("m.yaml: no GPU with 9000 MB free"));
  EXPECT_FALSE(submitted());
}

TEST_F(ExecuteBatch, a_machine_without_gpus_works_when_none_is_required) {
  measured("");
  EXPECT_EQ(batch({"--no-gpu-required", "--num-cpus=8"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("machine limits:  {'m.yaml': 2}\n"));
  EXPECT_THAT(screen.out_text, HasSubstr("machine gpu choices: [[]]\n"));
  EXPECT_FALSE(job().as_object().contains("gpus"));
}

TEST_F(ExecuteBatch, one_dead_machine_does_not_stop_the_batch) {
  file("dead.yaml", "username: ben\nip: dead\n");
  const std::string dead = R"({"name":"dead","address":"ben@dead","state":"down",)"
                           R"("reason":"no route to host","devices":[]})";
  daemon->answers["POST /v1/nodes"] = dead;
  daemon->answers["DELETE /v1/nodes/dead?force=true"] = "{}";
  const std::string both = nodes(node("box", kTwoGpus, "00") + "," + dead);
  daemon->first_answers["GET /v1/nodes"] = {nodes(node("box", kTwoGpus, "00")), both,
                                            nodes(node("box", kTwoGpus, "00"))};
  EXPECT_EQ(batch({"dead.yaml"}), 0);
  EXPECT_THAT(screen.err_text, HasSubstr("machine dead.yaml is not used: no route to host"));
  EXPECT_EQ(job().at("labels"), json::array{"box"});
  EXPECT_THAT(asked.requests, Contains("DELETE /v1/nodes/dead?force=true"));
}

TEST_F(ExecuteBatch, shared_gpus_and_a_reserved_machine_are_passed_on) {
  batch({"--no-reserve-gpu", "--gpu-utilization", "0.1", "--memory-required", "1000", "--reserve"});
  EXPECT_THAT(screen.out_text, HasSubstr("{'m.yaml': 1}"));
  EXPECT_EQ(job().at("gpu_util"), 0.1);
  EXPECT_EQ(job().at("node_limits"), (json::object{{"box", 1}}));
}

TEST_F(ExecuteBatch, what_may_be_overbooked_is_asked_for_in_part) {
  batch({"--no-reserve-gpu", "--gpu-utilization", "0.6", "--memory-required", "1000"});
  EXPECT_THAT(screen.out_text, HasSubstr("machine gpu choices: [[0, 1, 0, 1]]"));
  EXPECT_EQ(job().at("gpu_util"), 0.5);
}

TEST_F(ExecuteBatch, a_dry_run_starts_nothing) {
  EXPECT_EQ(batch({"--dry-run"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("would start: example_batch.sh.4;  echo 4\n"));
  EXPECT_FALSE(submitted());
}

TEST_F(ExecuteBatch, an_empty_batch_is_no_failure_and_wrong_calls_are_refused) {
  file("empty.sh", "# nothing\n\n");
  EXPECT_EQ(call({"execute_batch", "empty.sh", "--machines", "m.yaml"}), 0);
  EXPECT_EQ(call({"execute_batch", "example/batch.sh"}), 2);
  EXPECT_EQ(batch({"--num-cpus", "0"}), 2);
  EXPECT_EQ(batch({"--gpu-utilization", "2"}), 2);
  EXPECT_EQ(call({"execute_batch", "none.sh", "--machines", "m.yaml"}), 1);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(ExecuteBatch, execute_remote_runs_one_command_again_and_again) {
  tasks(task(1, 1, "succeeded", ""));
  file("job_results/execute_remote.1.out", "before");
  EXPECT_EQ(call({"execute_remote", "echo 1", "--machine", "m.yaml"}), 0);
  EXPECT_EQ(job().at("lines"), json::array{"echo 1"});
  EXPECT_THAT(screen.out_text, HasSubstr("finished: execute_remote.1; echo 1\n"));
}

// Ctrl-C comes with every event of the stream.
class InterruptedBatch : public FakeClient {
 public:
  using FakeClient::FakeClient;
  Result<void> stream(std::string_view target, StreamListener& listener) override {
    EXPECT_EQ(target, "/v1/jobs/9/stream");
    for (int i = 0; i < presses; ++i) {
      ::raise(SIGINT);
      if (listener.on_wake() == StreamListener::Next::kStop) return {};
    }
    listener.on_event({"end", R"({"id":9,"state":"cancelled","tasks":3})"});
    return {};
  }
  int presses = 1;
};

TEST_F(ExecuteBatch, ctrl_c_cancels_and_collects_and_a_second_one_leaves) {
  for (const int presses : {1, 2}) {
    auto client = std::make_unique<InterruptedBatch>(asked);
    client->answers = daemon->answers;
    client->presses = presses;
    client->first_answers = {
        {"GET /v1/nodes",
         {nodes(node("box", kTwoGpus, "00")), nodes(node("box", kTwoGpus, "00"))}}};
    client->answers["POST /v1/cancel"] = "{}";
    FakeClient* const kept = client.get();
    session.use_client(std::move(client));
    daemon = kept;
    screen.err_text.clear();
    fs::remove_all("job_results");
    EXPECT_EQ(batch(), 1);
    EXPECT_THAT(asked.requests, Contains("POST /v1/cancel"));
    EXPECT_EQ(screen.err_text.find("Job 9 goes on") != std::string::npos, presses == 2);
  }
}

}  // namespace
}  // namespace tutti
