#include "wire/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

JobSpec spec_of(std::string_view text) {
  const auto value = parse_json(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  auto spec = spec_from_json(*value);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? *spec : JobSpec();
}

std::string error_of_job(std::string_view text) {
  const auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  const auto spec = spec_from_json(*value);
  return spec ? "no error" : spec.error().message;
}

JobSpec there_and_back(const JobSpec& spec) {
  return spec_of(json_text(spec_to_json(spec, true)));
}

TEST(JobJson, a_shell_line_or_words) {
  EXPECT_EQ(spec_of(R"({"command":"a | b"})").command.shell, "a | b");
  EXPECT_THAT(spec_of(R"({"command":["a","b c"]})").command.argv, ElementsAre("a", "b c"));
}

TEST(JobJson, all_fields_are_read) {
  const JobSpec spec = spec_of(R"({"name":"n","project":"p","kind":"k","command":"c",
    "array":"1-9:2%3","cpus":1.5,"mem":"20G","gpus":"A100:2","gpu_mem":"1G","gpu_util":0.5,
    "labels":["b","a","b"],"priority":-3,"time":"1h30m","grace":2.5,"retries":4,"backoff":"10s",
    "after":[7,"8:any"],"workdir":"/w","env":{"A":"1","B":""},"output":"o","error":"e",
    "snapshot":"abc"})");
  EXPECT_EQ(spec.name, "n");
  EXPECT_EQ(spec.project, "p");
  EXPECT_EQ(spec.kind, "k");
  EXPECT_EQ(spec.tasks.shape, TaskSet::Shape::kArray);
  EXPECT_EQ(spec.tasks.count, 5u);
  EXPECT_EQ(spec.tasks.max_parallel, 3u);
  EXPECT_EQ(spec.request.cpus, MilliCpu(1500));
  EXPECT_TRUE(spec.request.limit_cpus);
  EXPECT_EQ(spec.request.memory, MiB(20480));
  EXPECT_TRUE(spec.request.limit_memory);
  EXPECT_EQ(spec.request.devices, (DeviceRequest{2, "A100", MiB(1024), MilliGpu(500)}));
  EXPECT_THAT(spec.request.labels, ElementsAre("a", "b"));
  EXPECT_EQ(spec.priority, -3);
  EXPECT_EQ(spec.time_limit, seconds(5400));
  EXPECT_EQ(spec.grace, milliseconds(2500));
  EXPECT_EQ(spec.retry, (RetryRule{4, seconds(10)}));
  EXPECT_THAT(spec.after, ElementsAre(Dependency{JobId(7), Dependency::When::kSuccess},
                                      Dependency{JobId(8), Dependency::When::kAny}));
  EXPECT_EQ(spec.workdir, "/w");
  EXPECT_THAT(spec.env, ElementsAre("A=1", "B="));
  EXPECT_EQ(spec.stdout_pattern, "o");
  EXPECT_EQ(spec.stderr_pattern, "e");
  EXPECT_EQ(spec.snapshot, "abc");
  EXPECT_EQ(spec.user, "");
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, numbers_are_not_rounded_up_for_a_binary_digit) {
  EXPECT_EQ(spec_of(R"({"command":"c","cpus":0.30000000000000004})").request.cpus, MilliCpu(300));
  EXPECT_EQ(spec_of(R"({"command":"c","retries":4.0})").retry.max, 4u);
  EXPECT_EQ(spec_of(R"({"command":"c","time":0.000001})").time_limit, microseconds(1));
}

TEST(JobJson, what_is_not_said_is_not_limited) {
  const JobSpec spec = spec_of(R"({"command":"c"})");
  JobSpec expected;
  expected.command.shell = "c";
  EXPECT_EQ(spec, expected);
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, a_batch_is_numbered_from_one) {
  const JobSpec spec = spec_of(R"({"lines":["a","b"],"line_numbers":[3,9],"max_parallel":2})");
  EXPECT_EQ(spec.tasks.shape, TaskSet::Shape::kBatch);
  EXPECT_EQ(spec.tasks.count, 2u);
  EXPECT_EQ(spec.tasks.label(0), 1);
  EXPECT_EQ(spec.tasks.max_parallel, 2u);
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, limits_for_nodes_are_sorted_by_name) {
  const JobSpec spec = spec_of(R"({"command":"c","node_limits":{"box2":4,"box1":2}})");
  EXPECT_THAT(spec.node_limits, ElementsAre(NodeLimit{"box1", 2}, NodeLimit{"box2", 4}));
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, a_script_keeps_its_name_and_arguments) {
  const JobSpec spec = spec_of(R"({"script":"echo $1\n","script_name":"x.sh","args":["a b"]})");
  EXPECT_EQ(spec.command.script, "echo $1\n");
  EXPECT_THAT(spec.command.argv, ElementsAre("x.sh", "a b"));
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, bytes_that_are_not_utf8_survive) {
  JobSpec spec;
  spec.name = "na\nme\xff";
  spec.command.argv = {"echo", "\xfe\xff", ""};
  spec.workdir = "/tmp/\xe4";
  spec.env = {"A=\xff", "B=plain"};
  spec.stdout_pattern = "\x80";
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, an_environment_that_no_object_can_hold_survives) {
  JobSpec spec;
  spec.command.shell = "c";
  spec.env = {"A=1", "A=2", "\xff=3"};
  EXPECT_EQ(there_and_back(spec), spec);
}

TEST(JobJson, the_environment_is_left_out_on_request) {
  JobSpec spec;
  spec.command.shell = "c";
  spec.env = {"SECRET=1"};
  EXPECT_EQ(json_text(spec_to_json(spec, false)).find("SECRET"), std::string::npos);
}

TEST(JobJson, an_unknown_key_is_named_with_the_nearest_one) {
  EXPECT_EQ(error_of_job(R"({"command":"c","memm":"1G"})"),
            "unknown key 'memm' in a job, did you mean 'mem'?");
}

TEST(JobJson, wrong_types_and_ranges_name_the_field) {
  const std::pair<const char*, const char*> cases[] = {
      {"name", "1"},
      {"command", "{}"},
      {"command", "[]"},
      {"command", "[1]"},
      {"cpus", "true"},
      {"cpus", "-1"},
      {"cpus", "1e300"},
      {"cpus", "\"many\""},
      {"mem", "-5"},
      {"mem", "[]"},
      {"mem", "\"20X\""},
      {"mem", "99999999999999999999"},
      {"gpus", "-1"},
      {"gpus", "\":\""},
      {"gpu_util", "1.5"},
      {"labels", "\"a\""},
      {"priority", "1.5"},
      {"priority", "\"1\""},
      {"retries", "\"1\""},
      {"priority", "99999999999"},
      {"time", "-1"},
      {"time", "\"soon\""},
      {"time", "1e300"},
      {"retries", "-1"},
      {"after", "12"},
      {"after", "[0]"},
      {"after", "[\"x\"]"},
      {"env", "1"},
      {"env", R"({"":"x"})"},
      {"env", R"({"A=B":"x"})"},
      {"env", R"({"A":1})"},
      {"env", R"(["A"])"},
      {"array", "5"},
      {"array", "\"9-1\""},
      {"array", "\"1-99999999999\""},
      {"workdir", "null"},
      {"max_parallel", "\"x\""},
      {"node_limits", "[\"box\"]"},
      {"node_limits", R"({"box":0})"},
      {"node_limits", R"({"box":"2"})"},
      {"name", R"("a\u0000b")"},
  };
  for (const auto& [field, value] : cases) {
    const std::string other = field == "command"s ? "" : R"("command":"c",)";
    const std::string text = "{" + other + "\"" + field + "\":" + value + "}";
    EXPECT_THAT(error_of_job(text), HasSubstr(field)) << text;
  }
}

TEST(JobJson, exactly_one_way_to_say_what_runs) {
  EXPECT_THAT(error_of_job("{}"), HasSubstr("exactly one of command, script and lines"));
  EXPECT_THAT(error_of_job(R"({"command":"c","lines":["a"]})"), HasSubstr("exactly one"));
  EXPECT_THAT(error_of_job(R"({"command":"c","args":["a"]})"), HasSubstr("need a script"));
  EXPECT_THAT(error_of_job(R"({"lines":[]})"), HasSubstr("at least one line"));
  EXPECT_THAT(error_of_job(R"({"lines":["a"],"array":"1-2"})"), HasSubstr("array"));
  EXPECT_THAT(error_of_job(R"({"lines":["a"],"line_numbers":[1,2]})"), HasSubstr("line_numbers"));
  EXPECT_THAT(error_of_job(R"({"command":"c","line_numbers":[1]})"), HasSubstr("line_numbers"));
  EXPECT_THAT(error_of_job(R"({"command":"c","array":"1-4%2","max_parallel":3})"),
              HasSubstr("max_parallel"));
  EXPECT_THAT(error_of_job("[]"), HasSubstr("object"));
}

TEST(JobJson, results_and_the_environment_elsewhere_are_read_and_written) {
  const json::value text = json::parse(
      R"({"command":"x","results":{"folder":"/r/%j","paths":["out","."]},"remote_env":{"A":"1"}})");
  const auto spec = spec_from_json(text);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->results, (ResultRule{"/r/%j", {"out", "."}}));
  EXPECT_EQ(spec->remote_env, std::vector<std::string>{"A=1"});
  EXPECT_EQ(*spec_from_json(spec_to_json(*spec, true)), *spec);
  EXPECT_FALSE(spec_from_json(json::parse(R"({"command":"x","results":{"folder":"/r"}})")));
  EXPECT_FALSE(spec_from_json(json::parse(R"({"command":"x","results":["out"]})")));
}

TEST(JobJson, configurations_and_the_model_are_read_and_written) {
  const auto read = [](const char* text) { return spec_from_json(*parse_json(text)); };
  const auto spec = read(R"({"command":"train","configurations":["4xA100","8xV100"],)"
                         R"("model":{"name":"bert","params":"1.3B","batch":256}})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->request.configurations.size(), 2u);
  EXPECT_EQ(spec->model, (ModelRun{"bert", 1'300'000'000, 256}));
  EXPECT_EQ(*spec_from_json(spec_to_json(*spec, true)), *spec);
  EXPECT_EQ(
      *read(R"({"command":"train","configurations":"4xA100,8xV100","model":"bert_1.3B_256"})"),
      *spec);
  EXPECT_EQ(
      read(R"({"command":"t","model":{"name":"bert","params":1300000000,"batch":256}})")->model,
      spec->model);
  for (const char* wrong :
       {R"({"command":"t","configurations":[4]})", R"({"command":"t","configurations":4})",
        R"({"command":"t","model":{"name":"bert"}})", R"({"command":"t","model":7})",
        R"({"command":"t","model":{"name":"bert","params":"1B","batch":0}})"})
    EXPECT_FALSE(read(wrong)) << wrong;
}

}  // namespace
}  // namespace tutti
