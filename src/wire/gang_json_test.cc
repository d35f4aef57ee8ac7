#include "wire/gang_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "core/spec/validate.h"
#include "wire/job_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

Result<JobSpec> parsed(std::string_view text) {
  return spec_from_json(json::parse(text));
}

JobSpec gang_job_of(std::string_view text) {
  auto spec = parsed(text);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? *spec : JobSpec();
}

std::string error_of(std::string_view text) {
  const auto spec = parsed(text);
  return spec ? "no error" : spec.error().message;
}

JobSpec gang_there_and_back(const JobSpec& spec) {
  return gang_job_of(json_text(spec_to_json(spec, true)));
}

TEST(GangJson, all_fields_of_workers_are_read) {
  const JobSpec spec = gang_job_of(R"j({"command":"c","framework":"jobset","start_timeout":"5m",
    "labels":["ssd"],"gpus":1,"workers":[{"gpus":0},
     {"name":"W","count":3,"parallel":2,"cpus":1.5,"mem":"2G","gpus":"A100:2","ports":4,"shm":512,
      "failure":"minSucceeded(2)","command":["a","b"],"env":{"A":"1"},"time":60,"labels":["fast"]},
     {"name":"W","replica":1}]})j");
  EXPECT_EQ(spec.tasks, (TaskSet{TaskSet::Shape::kGang, 5, 0, 1, 0}));
  EXPECT_EQ(spec.gang.framework, Framework::kJobset);
  EXPECT_EQ(spec.gang.start_timeout, seconds(300));
  ASSERT_EQ(spec.gang.workers.size(), 3u);
  EXPECT_EQ(spec.request, spec.gang.workers[0].ranks.request);
  EXPECT_EQ(spec.request.devices, DeviceRequest());
  EXPECT_EQ(spec.request.ports, 1u);
  const WorkerGroup& group = spec.gang.workers[1];
  EXPECT_EQ(group.name, "W");
  EXPECT_EQ(group.ranks.count, 3u);
  EXPECT_EQ(group.ranks.parallel, 2u);
  EXPECT_EQ(group.ranks.failure, (FailureRule{FailureRule::Kind::kMinSucceeded, 2}));
  EXPECT_EQ(group.ranks.request.cpus, MilliCpu(1500));
  EXPECT_EQ(group.ranks.request.memory, MiB(2048));
  EXPECT_EQ(group.ranks.request.devices, (DeviceRequest{2, "A100", {}, {}, Sharing::kNever}));
  EXPECT_THAT(group.ranks.request.labels, ElementsAre("fast", "ssd"));
  EXPECT_EQ(group.ranks.request.ports, 4u);
  EXPECT_THAT(group.command.argv, ElementsAre("a", "b"));
  EXPECT_THAT(group.env, ElementsAre("A=1"));
  EXPECT_EQ(group.time_limit, seconds(60));
  EXPECT_EQ(group.shared_memory, MiB(512));
  EXPECT_EQ(spec.gang.workers[2].replica, 1u);
  EXPECT_EQ(spec.gang.workers[2].ranks.request.devices.count, 1u);
  EXPECT_EQ(gang_there_and_back(spec), spec);
}

TEST(GangJson, a_container_is_read_and_written) {
  const JobSpec spec =
      gang_job_of(R"({"command":"c","container":{"image":"team/x:1","runtime":"podman",
    "mounts":["/a:/b"],"build":{"dockerfile":"/d","context":"/c","target":"t","args":{"A":"1"}}}})");
  EXPECT_EQ(spec.container,
            (Container{"team/x:1", "podman", {"/d", "/c", "t", {"A=1"}}, {"/a:/b"}}));
  EXPECT_EQ(gang_there_and_back(spec), spec);
  EXPECT_EQ(gang_job_of(R"({"command":"c","image":"x"})").container.image, "x");
}

TEST(GangJson, workers_may_all_have_commands_of_their_own) {
  const JobSpec spec = gang_job_of(R"({"workers":[{"command":"a"},{"name":"b","command":"b"}]})");
  EXPECT_EQ(spec.command.shell, "a");
  EXPECT_EQ(gang_there_and_back(spec), spec);
  EXPECT_THAT(error_of(R"({"workers":[{"command":"a"},{"name":"b"}]})"), HasSubstr("exactly one"));
}

TEST(GangJson, the_environment_of_workers_is_left_out_on_request) {
  const JobSpec spec = gang_job_of(R"({"command":"c","workers":[{"env":{"SECRET":"1"}}]})");
  EXPECT_EQ(json_text(spec_to_json(spec, false)).find("SECRET"), std::string::npos);
}

TEST(GangJson, faults_name_the_field) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("workers":[])", "at least one group"},
      {R"("workers":{"a":{}})", "must be an array"},
      {R"("workers":[{"cpu":1}])", "unknown key 'cpu' in a group of workers, did you mean 'cpus'?"},
      {R"("workers":[{},{"count":0}])", "workers, element 2: count '0'"},
      {R"("workers":[{"count":true}])", "count must be a number or a string"},
      {R"("workers":[{"failure":1}])", "failure"},
      {R"("workers":[{"failure":"never"}])", "failure rule 'never'"},
      {R"("workers":[{"command":[]}])", "command has no words"},
      {R"("workers":[{"env":["A"]}])", "env: 'A' is not NAME=value"},
      {R"("workers":[{"ports":1001}])", "ports '1001'"},
      {R"("workers":[{"script":"x"}])", "unknown key 'script'"},
      {R"("workers":[{}],"array":"1-2")", "cannot be combined"},
      {R"("workers":[{}],"max_parallel":2)", "cannot be combined"},
      {R"("framework":"torch")", "framework 'torch' is not known"},
      {R"("framework":1)", "framework"},
      {R"("start_timeout":0)", "start_timeout: must be more than zero"},
      {R"("container":"x")", "container must be a JSON object"},
      {R"("container":{"imge":"x"})", "did you mean 'image'?"},
      {R"("container":{"image":1})", "container: image"},
      {R"("container":{"image":"x","build":{"file":"x"}})", "unknown key 'file' in build"},
      {R"("container":{"image":"x","mounts":"/a:/b"})", "mounts must be an array"},
      {R"("image":"a","container":{"image":"b"})", "given twice"},
      {R"("container":{"image":"b"},"image":"a")", "keep one"},
  };
  for (const auto& [fields, message] : cases) {
    const std::string text = R"({"command":"c",)" + std::string(fields) + "}";
    EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
  }
}

// Gangs with every field in use; the same seed makes the same gang.
class RandomGangs {
 public:
  explicit RandomGangs(std::uint64_t seed) : random_(seed) {}

  JobSpec spec() {
    JobSpec made;
    made.command = command();
    made.gang.framework = static_cast<Framework>(below(8));
    made.gang.start_timeout = seconds(1 + static_cast<std::int64_t>(below(5000)));
    made.gang.workers.resize(1 + below(4));
    for (WorkerGroup& group : made.gang.workers) group = worker();
    if (coin()) made.container = container();
    fill_gang(made);
    return made;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool coin() { return below(2) == 1; }
  std::string word() {
    constexpr std::string_view kLetters = "ab-/ \xff\xc3\xa4";
    std::string text = "w";
    for (std::uint32_t i = below(5); i > 0; --i) text += kLetters[below(8)];
    return text;
  }
  std::vector<std::string> words() {
    std::vector<std::string> made(below(3));
    for (std::string& one : made) one = word();
    return made;
  }
  std::vector<std::string> variables() {
    std::vector<std::string> made = words();
    for (std::string& one : made) one += "=" + word();
    return made;
  }
  Command command() {
    Command made;
    if (coin()) {
      made.shell = word();
    } else {
      made.argv = words();
      made.argv.push_back(word());
    }
    return made;
  }
  WorkerGroup worker() {
    WorkerGroup made;
    made.name = word();
    made.ranks = {1 + below(9), below(9), request(), rule()};
    if (coin()) made.command = command();
    made.env = variables();
    if (coin()) made.time_limit = milliseconds(1 + below(100000));
    made.cpu_limit = MilliCpu(coin() ? 9000 + below(9000) : 0);
    made.shared_memory = MiB(below(3));
    made.replica = below(3);
    return made;
  }
  FailureRule rule() {
    const auto kind = static_cast<FailureRule::Kind>(below(4));
    const bool numbered =
        kind == FailureRule::Kind::kRestart || kind == FailureRule::Kind::kMinSucceeded;
    return {kind, numbered ? 1 + below(9) : 0};
  }
  Request request() {
    Request made;
    made.limit_cpus = coin();
    if (made.limit_cpus) made.cpus = MilliCpu(1 + below(9000));
    made.limit_memory = coin();
    if (made.limit_memory) made.memory = MiB(1 + below(9000));
    if (coin()) {
      made.devices = {below(3),
                      coin() ? "A100" : "",
                      MiB(below(3)),
                      MilliGpu(below(1000)),
                      static_cast<Sharing>(below(2)),
                      static_cast<Packing>(below(2))};
    }
    made.labels = words();
    made.ports = below(3);
    return made;
  }
  Container container() {
    Container made{word(), coin() ? "podman" : "", {}, words()};
    if (coin()) made.build = {word(), word(), coin() ? word() : "", variables()};
    return made;
  }

  std::mt19937_64 random_;
};

TEST(GangJson, what_is_written_is_read_as_the_same) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const JobSpec spec = RandomGangs(seed).spec();
    const std::string text = json_text(spec_to_json(spec, true));
    EXPECT_EQ(gang_job_of(text), spec) << text;
  }
}

}  // namespace
}  // namespace tutti
