#include "core/spec/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

JobFileEntry only(const std::string& text) {
  auto entries = parse_job_file(text, "job.yaml");
  EXPECT_TRUE(entries) << entries.error().message;
  if (!entries) return {};
  EXPECT_EQ(entries->size(), 1u);
  return entries->front();
}

std::string failure(const std::string& text) {
  const auto entries = parse_job_file(text, "job.yaml");
  return entries ? "no error" : entries.error().message;
}

TEST(JobFile, takes_flags_of_the_command_line) {
  const JobFileEntry entry = only(
      "command: x\ngpus: 1\nclean_env: true\nexclusive: true\nno_copy: true\non: box\nresults_to: "
      "r/%j\n");
  EXPECT_TRUE(entry.clean_env && entry.no_copy && !entry.snapshot);
  EXPECT_EQ(entry.spec.request.devices.sharing, Sharing::kNever);
  EXPECT_EQ(entry.spec.results, (ResultRule{"r/%j", {"."}}));
  EXPECT_THAT(only("command: x\nresults_to: r\nresults: [a]\n").spec.results.paths,
              ElementsAre("a"));
  EXPECT_THAT(failure("command: x\nresults_to: r\nresults: {folder: s, paths: [a]}\n"),
              HasSubstr("job.yaml:2:13: both results_to"));
  EXPECT_THAT(failure("command: x\nclean_env: yes\n"), HasSubstr("must be true or false"));
}

TEST(JobFile, knows_where_the_field_of_a_message_stands) {
  const JobPlace place = only("\ncommand: x\noutput: a%q\n\ntime: 1h\n").place;
  EXPECT_EQ(place.line_of("output: pattern 'a%q' is wrong"), 3u);
  EXPECT_EQ(place.line_of("time must be more than zero"), 5u);
  EXPECT_EQ(place.line_of("no command; give one"), 2u);
}

TEST(JobFile, has_every_field) {
  const JobFileEntry entry = only(R"(
name: train
project: vision
kind: resnet
command: [python, train.py, --lr, 0.1]
array: 1-9:2%3
cpus: 1.5
mem: 20G
gpus: A100:2
gpu_mem: 10G
gpu_util: 50%
labels: [ssd, fast]
priority: -5
time: 1h30m
grace: 30
retries: 2
backoff: 5s
after: [12, '13:any']
workdir: sub
env: {A: 1, B: "", C: x=y}
output: out.%t
error: err.%t
snapshot: true
)");
  JobSpec spec;
  spec.name = "train";
  spec.project = "vision";
  spec.kind = "resnet";
  spec.command.argv = {"python", "train.py", "--lr", "0.1"};
  spec.tasks = {TaskSet::Shape::kArray, 5, 1, 2, 3};
  spec.request.cpus = MilliCpu(1500);
  spec.request.limit_cpus = true;
  spec.request.memory = MiB(20480);
  spec.request.limit_memory = true;
  spec.request.devices = {2, "A100", MiB(10240), MilliGpu(500)};
  spec.request.labels = {"ssd", "fast"};
  spec.priority = -5;
  spec.time_limit = seconds(5400);
  spec.grace = seconds(30);
  spec.retry = {2, seconds(5)};
  spec.after = {{JobId(12), Dependency::When::kSuccess}, {JobId(13), Dependency::When::kAny}};
  spec.workdir = "sub";
  spec.env = {"A=1", "B=", "C=x=y"};
  spec.stdout_pattern = "out.%t";
  spec.stderr_pattern = "err.%t";
  EXPECT_EQ(entry.spec, spec);
  EXPECT_TRUE(entry.snapshot);
  EXPECT_EQ(entry.place.line, 2u);
}

TEST(JobFile, command_may_be_a_shell_line) {
  const JobFileEntry entry = only("command: |\n  echo a\n  \techo b\n");
  EXPECT_EQ(entry.spec.command.shell, "echo a\n\techo b\n");
  EXPECT_FALSE(entry.spec.request.limit_cpus);
}

TEST(JobFile, words_that_look_like_other_types_stay_text) {
  const JobFileEntry entry = only("name: no\ncommand: 'true'\nenv: {A: yes, B: 1.10, C: 0x1F}\n");
  EXPECT_EQ(entry.spec.name, "no");
  EXPECT_EQ(entry.spec.command.shell, "true");
  EXPECT_THAT(entry.spec.env, ElementsAre("A=yes", "B=1.10", "C=0x1F"));
}

TEST(JobFile, script_is_a_path_for_the_caller_to_read) {
  const JobFileEntry entry = only("script: bin/run.sh\nargs: [a, b c]\n");
  EXPECT_EQ(entry.script_path, "bin/run.sh");
  EXPECT_THAT(entry.spec.command.argv, ElementsAre("run.sh", "a", "b c"));
}

TEST(JobFile, lines_are_a_batch_with_their_places) {
  const JobFileEntry entry = only("lines:\n  - echo a\n\n  - echo b\nmax_parallel: 2\n");
  EXPECT_THAT(entry.spec.lines, ElementsAre("echo a", "echo b"));
  EXPECT_THAT(entry.spec.line_numbers, ElementsAre(2, 4));
  EXPECT_EQ(entry.spec.tasks.max_parallel, 2u);
}

TEST(JobFile, may_list_several_jobs) {
  const auto entries = parse_job_file("jobs:\n- command: a\n- command: b\n  name: second\n", "f");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[1].spec.name, "second");
  EXPECT_EQ((*entries)[1].place.line, 3u);
}

TEST(JobFile, after_may_be_one_number_or_a_text_list) {
  EXPECT_EQ(only("command: a\nafter: 12\n").spec.after.size(), 1u);
  EXPECT_EQ(only("command: a\nafter: '12,13:any'\n").spec.after.size(), 2u);
  const JobFileEntry last = only("command: a\nafter: [12, 'last:any', last]\n");
  EXPECT_EQ(last.spec.after.size(), 1u);
  EXPECT_EQ(last.after_last, (std::vector<std::string>{"last:any", "last"}));
}

TEST(JobFile, aliases_stand_for_their_values) {
  const JobFileEntry entry = only("name: &n x\nproject: *n\ncommand: a\n");
  EXPECT_EQ(entry.spec.project, "x");
}

TEST(JobFile, unknown_field_names_place_and_nearest_known_one) {
  EXPECT_EQ(failure("command: a\ncpu: 4\n"),
            "job.yaml:2:1: unknown field 'cpu', did you mean 'cpus'?");
  EXPECT_THAT(failure("jobs:\n- command: a\n  prioritty: 4\n"),
              StartsWith("job.yaml:3:3: unknown field 'prioritty', did you mean 'priority'?"));
  EXPECT_EQ(failure("command: a\ndepends: 4\n"),
            "job.yaml:2:1: unknown field 'depends', did you mean 'after'?");
  EXPECT_THAT(failure("command: a\nworkers: {W: {cpu: 2}}\n"),
              StartsWith("job.yaml:2:15: unknown field 'cpu' in workers, did you mean 'cpus'?"));
}

TEST(JobFile, faults_name_their_place) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"command: a\ncommand: b\n", "job.yaml:2:1: 'command' is given twice"},
      {"command: a\nenv:\n  A: 1\n  A: 2\n", "job.yaml:4:3: 'A' is given twice"},
      {"command: a\ncpus: [1]\n", "job.yaml:2:7: cpus is a list; write one value"},
      {"command: a\ncpus:\n", "cpus is nothing; write one value"},
      {"command: a\ncpus: many\n", "job.yaml:2:7: cpus 'many'"},
      {"command: a\nmem: -1\n", "job.yaml:2:6: mem '-1'"},
      {"command: a\ntime: 0\n", "job.yaml:2:7: time: must be more than zero"},
      {"command: a\narray: 5-1\n", "job.yaml:2:8: array '5-1'"},
      {"command: a\nname: ''\n", "job.yaml:2:7: name: is empty"},
      {"command: {a: b}\n", "command is a mapping; write a shell line or a list of words"},
      {"command: []\n", "command is empty"},
      {"command: ' '\n", "command is empty"},
      {"command: [a, [b]]\n", "job.yaml:1:14: an entry of command is a list; write text"},
      {"command: a\nenv: [A=1]\n", "env is a list"},
      {"command: a\nenv: {A: [1]}\n", "env A is a list"},
      {"command: a\nenv: {A: ~}\n", "env A is nothing"},
      {"command: a\nenv: {A=B: 1}\n", "has no '='"},
      {"command: a\nafter: x\n", "job.yaml:2:8: after 'x'"},
      {"command: a\nafter: last:never\n", "such as 12, 12:any or 12:failure"},
      {"command: a\nafter: {a: b}\n", "after is a mapping"},
      {"command: a\nafter: [1, 1:any]\n", "job 1 is named twice"},
      {"command: a\nlabels: x\n", "labels is text; write a list"},
      {"command: a\nsnapshot: 1\n", "snapshot must be true or false"},
      {"command: a\nscript: b\n", "more than one command"},
      {"command: a\nlines: [b]\n", "more than one command"},
      {"name: a\n", "no command"},
      {"lines: []\n", "lines is empty"},
      {"lines: [a, '']\n", "this command is empty"},
      {"script: a/\n", "script must be the path of a file"},
      {"command: a\nargs: [b]\n", "args is for script"},
      {"command: a\narray: 1-9%3\nmax_parallel: 2\n", "both max_parallel and %PARALLEL"},
      {"jobs: []\n", "jobs must be a list"},
      {"jobs: {a: b}\n", "jobs must be a list"},
      {"jobs: [a]\n", "a job is text"},
      {"jobs: [{command: a}]\nname: x\n", "a file with 'jobs' has no other fields"},
      {"- command: a\n", "a job is a list"},
      {"text\n", "a job is text"},
      {"", "is empty"},
      {"# only a comment\n", "is empty"},
      {"command: a\n---\ncommand: b\n", "second document"},
      {"command: a\n\tname: b\n", "job.yaml:2:1: is indented with a tab"},
      {"command: [a\n", "is not valid YAML"},
      {"command: a: b\n", "job.yaml:1:11: is not valid YAML"},
      {"command: !!python/object a\n", "tags such as"},
      {"command: *nowhere\n", "is not valid YAML"},
      {"[a]: b\n", "a field's name cannot be a list"},
      {"command: a\x01\n", "job.yaml:1:11: has a control character"},
      {"command: a\xFF\n", "job.yaml:1:11: is not UTF-8"},
      {"&a [*a]\n", "job.yaml"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(failure(text), HasSubstr(message)) << text;
    EXPECT_THAT(failure(text), StartsWith("job.yaml:")) << text;
  }
}

TEST(JobFile, a_quote_that_is_not_closed_names_its_line) {
  const char* const why = "is not valid YAML: this quote is not closed";
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {"command: \"echo hi\nname: x\n", "1:10"},
           {"command: 'echo hi\nname: x\n", "1:10"},
           {"name: x\ncommand: 'it''s", "2:10"},
           {"name: x\ncommand: \"a\\\"", "2:10"},
           {"name: x\ncommand: \"", "2:10"},
           {"\xEF\xBB\xBFname: x\ncommand: &a 'b", "2:13"},
           {"command: true\nenv:\n  A: 'x\n  B: y\n", "3:6"},
       })
    EXPECT_EQ(failure(text), "job.yaml:" + place + ": " + why) << text;
}

TEST(JobFile, quotes_that_are_closed_may_hold_quotes_and_lines) {
  EXPECT_EQ(only("command: 'it''s # \"\n  one'").spec.command.shell, "it's # \" one");
  EXPECT_EQ(only("command: \"a \\\" '\"  # it's").spec.command.shell, "a \" '");
  EXPECT_EQ(only("command: it's").spec.command.shell, "it's");
}

TEST(JobFile, that_is_nested_too_deeply_is_refused) {
  EXPECT_THAT(failure("command: " + std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(failure(std::string(100000, '[')), StartsWith("job.yaml:1:"));
  EXPECT_THAT(failure(std::string(100000, '{')), StartsWith("job.yaml:1:"));
}

TEST(JobFile, whose_aliases_blow_up_is_refused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j == 0 ? "" : ",") + last;
    bomb += "]\n";
  }
  EXPECT_THAT(failure(bomb), HasSubstr("job.yaml:"));
  EXPECT_THAT(failure(bomb),
              ::testing::AnyOf(HasSubstr("aliases expand"), HasSubstr("anchors hold")));
}

TEST(JobFile, larger_than_sixteen_mebibytes_is_refused) {
  EXPECT_THAT(failure("command: " + std::string(17 << 20, 'x')), HasSubstr("larger than 16 MiB"));
}

TEST(JobFile, takes_a_command_of_a_megabyte) {
  EXPECT_EQ(only("command: " + std::string(1 << 20, 'x')).spec.command.shell.size(), 1u << 20);
}

TEST(JobFile, says_where_it_runs_and_what_comes_back) {
  const auto jobs = parse_job_file("command: x\non: [box1, box2]\nresults: [out, log]\n", "f");
  ASSERT_TRUE(jobs);
  EXPECT_EQ((*jobs)[0].spec.request.labels, std::vector<std::string>{"box1|box2"});
  EXPECT_EQ((*jobs)[0].spec.results.paths, (std::vector<std::string>{"out", "log"}));
  EXPECT_TRUE((*jobs)[0].snapshot);
  const auto other = parse_job_file(
      "command: x\non: pool\nsnapshot: false\nresults: {folder: r, paths: [.]}\n", "f");
  ASSERT_TRUE(other);
  EXPECT_FALSE((*other)[0].snapshot);
  EXPECT_EQ((*other)[0].spec.results, (ResultRule{"r", {"."}}));
}

TEST(JobFile, refuses_places_and_results_that_it_cannot_read) {
  EXPECT_FALSE(parse_job_file("command: x\non: a b\n", "f"));
  EXPECT_FALSE(parse_job_file("command: x\non: {a: b}\n", "f"));
  EXPECT_FALSE(parse_job_file("command: x\nresults: []\n", "f"));
  EXPECT_FALSE(parse_job_file("command: x\nresults: {folder: r}\n", "f"));
  EXPECT_FALSE(parse_job_file("command: x\nresults: {folders: r, paths: [.]}\n", "f"));
}

TEST(JobFile, workers_begin_with_what_the_job_says) {
  const JobFileEntry entry = only(R"(
command: python train.py
workers:
  Master: {cpus: 4, gpus: 0}
  Worker:
    count: 3
    parallel: 2
    mem: 2G
    ports: 3
    shm: 1G
    time: 1h
    failure: restartWorker(2)
    command: [python, worker.py]
    env: {A: 1}
    labels: [fast]
gpus: A100:2
labels: [ssd]
framework: pytorch
start_timeout: 5m
)");
  const JobSpec& spec = entry.spec;
  EXPECT_EQ(spec.tasks, (TaskSet{TaskSet::Shape::kGang, 4, 0, 1, 0}));
  EXPECT_EQ(spec.gang.framework, Framework::kPytorch);
  EXPECT_EQ(spec.gang.start_timeout, seconds(300));
  Request of_master;
  of_master.cpus = MilliCpu(4000);
  of_master.limit_cpus = true;
  of_master.labels = {"ssd"};
  of_master.ports = 1;
  WorkerGroup master;
  master.name = "Master";
  master.ranks.request = of_master;
  Request of_worker;
  of_worker.memory = MiB(2048);
  of_worker.limit_memory = true;
  of_worker.devices = {2, "A100", {}, {}, Sharing::kNever};
  of_worker.labels = {"fast", "ssd"};
  of_worker.ports = 3;
  const WorkerGroup worker{"Worker",
                           {3, 2, of_worker, {FailureRule::Kind::kRestart, 2}},
                           {{"python", "worker.py"}, "", ""},
                           {"A=1"},
                           seconds(3600),
                           MiB(1024),
                           0};
  EXPECT_THAT(spec.gang.workers, ElementsAre(master, worker));
  EXPECT_EQ(spec.request, of_master);
}

TEST(JobFile, workers_may_be_a_number_or_a_list) {
  const JobFileEntry number = only("command: a\nworkers: 4\ncpus: 2\n");
  ASSERT_EQ(number.spec.gang.workers.size(), 1u);
  EXPECT_EQ(number.spec.gang.workers[0].name, "Worker");
  EXPECT_EQ(number.spec.gang.workers[0].ranks.count, 4u);
  EXPECT_EQ(number.spec.gang.workers[0].ranks.request.cpus, MilliCpu(2000));
  const JobFileEntry list = only("workers:\n- {name: a, command: x}\n- {name: b, command: y}\n");
  ASSERT_EQ(list.spec.gang.workers.size(), 2u);
  EXPECT_EQ(list.spec.gang.workers[1].name, "b");
  EXPECT_EQ(list.spec.command.shell, "x");
}

TEST(JobFile, says_in_which_container_it_runs) {
  EXPECT_EQ(only("command: a\nimage: team/x:1\n").spec.container.image, "team/x:1");
  EXPECT_EQ(only("command: a\ncontainer: x\n").spec.container.image, "x");
  const Container full = only(R"(
command: a
container:
  image: x
  runtime: podman
  mounts: [data:/data:ro]
  build: {dockerfile: D, context: c, target: t, args: {A: 1}}
)")
                             .spec.container;
  EXPECT_EQ(full, (Container{"x", "podman", {"D", "c", "t", {"A=1"}}, {"data:/data:ro"}}));
}

TEST(JobFile, faults_of_workers_and_containers_name_their_place) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"command: a\nworkers: 0\n", "job.yaml:2:10: workers '0'"},
      {"command: a\nworkers:\n", "workers is empty"},
      {"command: a\nworkers: {}\n", "workers is empty"},
      {"command: a\nworkers: [[]]\n", "a group of workers is a list"},
      {"command: a\nworkers: {W: {name: X}}\n", "has a name already"},
      {"command: a\nworkers: {W: {count: [1]}}\n", "count is a list"},
      {"command: a\nworkers: {W: {failure: minSucceeded}}\n", "failure rule 'minSucceeded'"},
      {"command: a\nworkers: {W: {failure: restartWorker(0)}}\n", "restartWorker(0)"},
      {"command: a\nworkers: {W: {mem: much}}\n", "mem 'much'"},
      {"command: a\nworkers: {W: {time: 0}}\n", "time: must be more than zero"},
      {"command: a\nworkers: 2\narray: 1-3\n", "cannot be combined"},
      {"lines: [a]\nworkers: 2\n", "cannot be combined"},
      {"workers: {A: {command: x}, B: 2}\n", "no command"},
      {"command: a\nworkers: 2\nframework: torch\n", "framework 'torch' is not known"},
      {"command: a\nimage: x\ncontainer: y\n", "given twice"},
      {"command: a\ncontainer: {image: x, mount: []}\n", "did you mean 'mounts'?"},
      {"command: a\ncontainer: {image: x, build: {file: a}}\n", "unknown field 'file' in build"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(failure(text), HasSubstr(message)) << text;
    EXPECT_THAT(failure(text), StartsWith("job.yaml:")) << text;
  }
}

TEST(JobFile, may_be_a_manifest) {
  const JobFileEntry entry = only(
      "kind: AIchorManifest\nspec:\n  operator: tf\n  command: a\n  tensorboard: {enabled: true}\n"
      "  types: {Worker: {count: 2, resources: {cpus: 1, ramRatio: 1}}}\n");
  EXPECT_EQ(entry.spec.tasks.count, 2u);
  EXPECT_EQ(entry.spec.workdir, ".");
  EXPECT_EQ(entry.notes.size(), 1u);
  EXPECT_THAT(failure("kind: Manifest\napiVersion: 1\n"), HasSubstr("kind must be AIchorManifest"));
}

}  // namespace
}  // namespace tutti
