#include "core/spec/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::string_literals::operator""s;

JobSpec good() {
  JobSpec spec;
  spec.command.argv = {"python", "train.py"};
  spec.workdir = "/tmp";
  spec.env = {"PATH=/bin", "EMPTY="};
  fill_defaults(spec);
  return spec;
}

TEST(Validate, accepts_an_ordinary_job) {
  const auto checked = validate(good());
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(Validate, accepts_a_batch_and_an_array_and_a_script) {
  JobSpec batch = good();
  batch.command = {};
  batch.lines = {"a", "b"};
  fill_defaults(batch);
  EXPECT_TRUE(validate(batch));
  JobSpec array = good();
  array.tasks = {TaskSet::Shape::kArray, 1000000, 1, 1, 4};
  EXPECT_TRUE(validate(array));
  JobSpec script = good();
  script.command = {{"run.sh", "x"}, "", "echo $1\n"};
  EXPECT_TRUE(validate(script));
}

TEST(Validate, accepts_a_shell_line_of_a_megabyte) {
  JobSpec spec = good();
  spec.command = {{}, "echo " + std::string(1 << 20, 'x'), ""};
  EXPECT_TRUE(validate(spec));
}

struct Fault {
  const char* message;
  std::function<void(JobSpec&)> make;
};

TEST(Validate, names_what_is_wrong) {
  const std::vector<Fault> faults = {
      {"no command", [](JobSpec& s) { s.command = {}; }},
      {"more than one command", [](JobSpec& s) { s.command.shell = "x"; }},
      {"more than one command", [](JobSpec& s) { s.lines = {"x"}; }},
      {"argument 1 has a NUL byte", [](JobSpec& s) { s.command.argv[1] = "a\0b"s; }},
      {"Linux takes at most 131071",
       [](JobSpec& s) { s.command.argv[1] = std::string(131072, 'x'); }},
      {"the program's name is empty", [](JobSpec& s) { s.command.argv[0] = ""; }},
      {"command and env have",
       [](JobSpec& s) { s.command.argv.assign(70, std::string(100000, 'x')); }},
      {"command has a NUL byte",
       [](JobSpec& s) {
         s.command = {{}, "a\0"s, ""};
       }},
      {"script has a NUL byte",
       [](JobSpec& s) {
         s.command = {{}, "", "a\0"s};
       }},
      {"name has a newline at byte 3", [](JobSpec& s) { s.name = "abc\nd"; }},
      {"name has a control character at byte 0", [](JobSpec& s) { s.name = "\x1b[1m"; }},
      {"name is not valid UTF-8 at byte 1", [](JobSpec& s) { s.name = "a\xFF"; }},
      {"name is empty", [](JobSpec& s) { s.name = ""; }},
      {"name has 256 bytes", [](JobSpec& s) { s.name = std::string(256, 'a'); }},
      {"project is empty", [](JobSpec& s) { s.project = ""; }},
      {"project has a newline", [](JobSpec& s) { s.project = "a\n"; }},
      {"kind is empty", [](JobSpec& s) { s.kind = ""; }},
      {"must be an absolute path", [](JobSpec& s) { s.workdir = "a/b"; }},
      {"must be an absolute path", [](JobSpec& s) { s.workdir = ""; }},
      {"workdir has a NUL byte", [](JobSpec& s) { s.workdir = "/a\0"s; }},
      {"write NAME=value", [](JobSpec& s) { s.env = {"NAME"}; }},
      {"write NAME=value", [](JobSpec& s) { s.env = {"=x"}; }},
      {"env A has a NUL byte", [](JobSpec& s) { s.env = {"A=b\0"s}; }},
      {"env A has 131073 bytes", [](JobSpec& s) { s.env = {"A=" + std::string(131071, 'x')}; }},
      {"retries 1001", [](JobSpec& s) { s.retry.max = 1001; }},
      {"backoff", [](JobSpec& s) { s.retry.backoff = Duration(-1); }},
      {"time must be", [](JobSpec& s) { s.time_limit = Duration(-1); }},
      {"grace must be", [](JobSpec& s) { s.grace = Duration(-1); }},
      {"priority 1000001", [](JobSpec& s) { s.priority = 1000001; }},
      {"priority -1000001", [](JobSpec& s) { s.priority = -1000001; }},
      {"cpus must be", [](JobSpec& s) { s.request.cpus = MilliCpu(0); }},
      {"mem must not", [](JobSpec& s) { s.request.memory = MiB(-1); }},
      {"gpu_util must be", [](JobSpec& s) { s.request.devices.share = MilliGpu(1001); }},
      {"gpus is 0", [](JobSpec& s) { s.request.devices.type = "A100"; }},
      {"labels: a label is empty", [](JobSpec& s) { s.request.labels = {""}; }},
      {"jobs are numbered from 1", [](JobSpec& s) { s.after = {Dependency{}}; }},
      {"at least one task", [](JobSpec& s) { s.tasks.count = 0; }},
      {"at most 10000000",
       [](JobSpec& s) {
         s.tasks = {TaskSet::Shape::kArray, 10000001, 0, 1, 0};
       }},
      {"several tasks needs array", [](JobSpec& s) { s.tasks.count = 2; }},
      {"must run from 0 up",
       [](JobSpec& s) {
         s.tasks = {TaskSet::Shape::kArray, 5, 0, INT64_MAX, 0};
       }},
      {"'%q' is unknown", [](JobSpec& s) { s.stdout_pattern = "a%q"; }},
      {"must be a digest", [](JobSpec& s) { s.snapshot = "../x"; }},
  };
  for (const Fault& fault : faults) {
    JobSpec spec = good();
    fault.make(spec);
    const auto checked = validate(spec);
    ASSERT_FALSE(checked) << fault.message;
    EXPECT_THAT(checked.error().message, HasSubstr(fault.message));
  }
}

TEST(Validate, refuses_lines_with_faults) {
  const std::vector<std::pair<const char*, std::function<void(JobSpec&)>>> faults = {
      {"command 2 is empty", [](JobSpec& s) { s.lines[1] = " \t"; }},
      {"command 2 has a NUL byte", [](JobSpec& s) { s.lines[1] = "a\0"s; }},
      {"line_numbers: 1 numbers for 2 lines", [](JobSpec& s) { s.line_numbers = {7}; }},
      {"cannot be combined", [](JobSpec& s) { s.tasks.shape = TaskSet::Shape::kArray; }},
      {"differs from the number of lines", [](JobSpec& s) { s.tasks.count = 3; }},
  };
  for (const auto& [message, make] : faults) {
    JobSpec spec = good();
    spec.command = {};
    spec.lines = {"a", "b"};
    fill_defaults(spec);
    make(spec);
    const auto checked = validate(spec);
    ASSERT_FALSE(checked) << message;
    EXPECT_THAT(checked.error().message, HasSubstr(message));
  }
}

TEST(Validate, refuses_one_output_file_for_several_tasks) {
  JobSpec spec = good();
  spec.tasks = {TaskSet::Shape::kArray, 5, 0, 1, 0};
  spec.stdout_pattern = "out.%j";
  EXPECT_THAT(validate(spec).error().message,
              HasSubstr("every task would write to the same file; add %t"));
  spec.stdout_pattern = "out.%t";
  EXPECT_TRUE(validate(spec));
  spec.stderr_pattern = "err";
  EXPECT_THAT(validate(spec).error().message, HasSubstr("error 'err'"));
  spec.stderr_pattern = "/dev/null";
  EXPECT_TRUE(validate(spec));
}

TEST(Defaults, do_not_hide_an_array_with_lines) {
  JobSpec spec = good();
  spec.command = {};
  spec.lines = {"a", "b"};
  spec.tasks = {TaskSet::Shape::kArray, 2, 0, 1, 0};
  fill_defaults(spec);
  EXPECT_THAT(validate(spec).error().message, HasSubstr("cannot be combined"));
}

TEST(Validate, limits_for_nodes_are_sorted_and_more_than_zero) {
  JobSpec spec = good();
  spec.node_limits = {{"a", 1}, {"b", 2}};
  EXPECT_TRUE(validate(spec));
  for (const std::vector<NodeLimit>& wrong :
       {std::vector<NodeLimit>{{"a", 0}}, {{"b", 1}, {"a", 1}}, {{"a", 1}, {"a", 1}}, {{"", 1}}}) {
    spec.node_limits = wrong;
    EXPECT_THAT(validate(spec).error().message, HasSubstr("node_limits"));
  }
}

TEST(Defaults, make_lines_a_batch_with_labels_from_one) {
  JobSpec spec;
  spec.lines = {"python a.py", "python b.py"};
  spec.tasks.max_parallel = 3;
  fill_defaults(spec);
  EXPECT_EQ(spec.tasks, (TaskSet{TaskSet::Shape::kBatch, 2, 1, 1, 3}));
  EXPECT_EQ(spec.name, "batch");
  EXPECT_EQ(spec.kind, "a.py");
}

TEST(Defaults, name_is_the_first_word) {
  const std::vector<std::pair<Command, std::string>> cases = {
      {{{"/usr/bin/python3", "train.py"}, "", ""}, "python3"},
      {{{}, "echo $HOME | wc", ""}, "echo"},
      {{{}, "(cd /tmp; ls)", ""}, "job"},
      {{{}, "'my prog' x", ""}, "my prog"},
      {{{"run.sh", "a"}, "", "echo\n"}, "run.sh"},
      {{{}, "", "echo\n"}, "script"},
      {{{"a\nb\xFF"}, "", ""}, "a_b_"},
  };
  for (const auto& [command, name] : cases) {
    JobSpec spec;
    spec.command = command;
    fill_defaults(spec);
    EXPECT_EQ(spec.name, name);
  }
}

TEST(Defaults, kind_is_the_first_real_program) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"./train --lr 1", "train"},
      {"python train.py", "train.py"},
      {"python3.11 -u dir/train.py --x", "train.py"},
      {"python -m pkg.train", "pkg.train"},
      {"python -c 'print(1)'", "python"},
      {"A=1 B=2 env C=3 nice -n 5 python train.py", "train.py"},
      {"nohup bash run.sh &", "run.sh"},
      {"torchrun --nproc-per-node=2 train.py", "train.py"},
      {"accelerate launch train.py", "train.py"},
      {"pythonic x", "pythonic"},
      {"nice", "nice"},
      {"sleep 1 && echo x", "sleep"},
      {"echo 'open", "echo"},
      {"", "job"},
  };
  for (const auto& [line, kind] : cases) {
    JobSpec spec;
    spec.command.shell = line;
    fill_defaults(spec);
    EXPECT_EQ(spec.kind, kind) << line;
  }
}

TEST(Defaults, derived_names_are_always_valid) {
  for (const std::string& program : {std::string(1000, 'a'),
                                     std::string(254, 'a') + "\xC3\xA9"
                                                             "b",
                                     "\xFF\xFE"s, "a\0b"s, "/"s, "a/"s, "///"s}) {
    JobSpec spec = good();
    spec.name.clear();
    spec.kind.clear();
    spec.command.argv = {program};
    fill_defaults(spec);
    spec.command.argv = {"x"};
    const auto checked = validate(spec);
    EXPECT_TRUE(checked) << checked.error().message;
  }
}

TEST(Defaults, keep_what_is_set) {
  JobSpec spec = good();
  spec.name = "mine";
  spec.kind = "sort";
  fill_defaults(spec);
  EXPECT_EQ(spec.name, "mine");
  EXPECT_EQ(spec.kind, "sort");
}

TEST(Defaults, ask_for_one_gpu_when_only_its_memory_is_given) {
  JobSpec spec = good();
  spec.request.devices.memory = MiB(100);
  spec.request.labels = {"b", "a", "b"};
  fill_defaults(spec);
  EXPECT_EQ(spec.request.devices.count, 1u);
  EXPECT_THAT(spec.request.labels, ElementsAre("a", "b"));
}

JobSpec gang_of(std::uint32_t count) {
  JobSpec spec = good();
  spec.gang.workers.resize(1);
  spec.gang.workers[0].ranks.count = count;
  fill_defaults(spec);
  return spec;
}

TEST(Defaults, workers_make_a_gang) {
  JobSpec spec = gang_of(3);
  spec.gang.workers.push_back(spec.gang.workers[0]);
  spec.gang.workers[1].name = "Other";
  spec.gang.workers[1].ranks.request.devices.count = 2;
  spec.gang.workers[1].ranks.parallel = 3;
  fill_defaults(spec);
  EXPECT_EQ(spec.tasks, (TaskSet{TaskSet::Shape::kGang, 6, 0, 1, 0}));
  EXPECT_EQ(spec.request, spec.gang.workers[0].ranks.request);
  EXPECT_EQ(spec.gang.workers[1].ranks.request.devices.sharing, Sharing::kNever);
  EXPECT_EQ(spec.gang.workers[1].ranks.parallel, 0u);
  EXPECT_TRUE(validate(spec));
  const JobSpec before = spec;
  fill_defaults(spec);
  EXPECT_EQ(spec, before);
}

TEST(Defaults, a_gang_takes_its_name_from_the_first_command) {
  JobSpec spec;
  spec.gang.workers.resize(1);
  spec.gang.workers[0].command.argv = {"python", "train.py"};
  fill_defaults(spec);
  EXPECT_EQ(spec.kind, "train.py");
  EXPECT_EQ(spec.command, spec.gang.workers[0].command);
}

TEST(Validate, refuses_gangs_that_cannot_be) {
  using Change = std::function<void(JobSpec&, WorkerGroup&)>;
  using Rule = FailureRule::Kind;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](JobSpec&, WorkerGroup& w) { w.ranks.count = 0; }, "count must be at least 1"},
      {[](JobSpec&, WorkerGroup& w) { w.ranks.count = 10001; }, "at most 10000"},
      {[](JobSpec&, WorkerGroup& w) { w.name = ""; }, "a group's name"},
      {[](JobSpec&, WorkerGroup& w) { w.name = "a b"; }, "a group's name 'a b'"},
      {[](JobSpec& s, WorkerGroup& w) { s.gang.workers.push_back(w); }, "two groups are called"},
      {[](JobSpec& s, WorkerGroup& w) {
         s.gang.framework = Framework::kTensorflow;
         w.ranks.request.ports = 1;
         w.name = "Master";
         WorkerGroup other = w;
         other.name = "Chief";
         s.gang.workers.push_back(other);
       },
       "two groups are called 'chief' by TensorFlow"},
      {[](JobSpec&, WorkerGroup& w) { w.replica = 1; }, "replica is 1"},
      {[](JobSpec&, WorkerGroup& w) {
         w.ranks.failure = {Rule::kMinSucceeded, 5};
       },
       "minSucceeded(5), but it has 4 ranks"},
      {[](JobSpec&, WorkerGroup& w) {
         w.ranks.failure = {Rule::kRestart, 0};
       },
       "restartWorker(0)"},
      {[](JobSpec& s, WorkerGroup& w) {
         s.gang.framework = Framework::kTensorflow;
         w.ranks.parallel = 2;
       },
       "must run together"},
      {[](JobSpec& s, WorkerGroup&) { s.gang.framework = Framework::kRay; }, "is its head"},
      {[](JobSpec&, WorkerGroup& w) { w.env = {"A"}; }, "write NAME=value"},
      {[](JobSpec&, WorkerGroup& w) { w.command.script = "x"; }, "a shell line or a list"},
      {[](JobSpec&, WorkerGroup& w) { w.ranks.request.cpus = MilliCpu(0); }, "cpus must be more"},
      {[](JobSpec&, WorkerGroup& w) { w.ranks.request.ports = 2000; }, "at most 1000"},
      {[](JobSpec& s, WorkerGroup&) { s.command = {}; }, "has no command"},
      {[](JobSpec& s, WorkerGroup&) { s.lines = {"a"}; }, "cannot be combined"},
      {[](JobSpec& s, WorkerGroup&) { s.tasks.shape = TaskSet::Shape::kArray; }, "cannot be comb"},
      {[](JobSpec& s, WorkerGroup&) { s.tasks.max_parallel = 2; }, "max_parallel is not"},
      {[](JobSpec& s, WorkerGroup&) { s.gang.start_timeout = Duration(0); }, "start_timeout must"},
      {[](JobSpec& s, WorkerGroup&) { s.stdout_pattern = "out"; }, "every task would write"},
      {[](JobSpec& s, WorkerGroup&) { s.lease = true; }, "a lease has no workers"},
  };
  EXPECT_TRUE(validate(gang_of(4)));
  for (const auto& [change, message] : cases) {
    JobSpec spec = gang_of(4);
    // A copy of the group: a change may move it.
    WorkerGroup group = spec.gang.workers[0];
    change(spec, group);
    spec.gang.workers[0] = group;
    fill_gang(spec);
    const auto checked = validate(spec);
    EXPECT_THAT(checked ? "valid" : checked.error().message, HasSubstr(message)) << message;
  }
}

TEST(Validate, what_is_for_workers_needs_them) {
  JobSpec spec = good();
  spec.gang.framework = Framework::kJax;
  EXPECT_THAT(validate(spec).error().message, HasSubstr("framework is for jobs with workers"));
  spec = good();
  spec.gang.start_timeout = seconds(1);
  EXPECT_THAT(validate(spec).error().message, HasSubstr("start_timeout is for jobs with workers"));
  spec = good();
  spec.tasks.shape = TaskSet::Shape::kGang;
  EXPECT_FALSE(validate(spec));
}

TEST(Validate, the_jobs_of_a_set_are_numbered) {
  JobSpec spec = gang_of(2);
  spec.gang.framework = Framework::kJobset;
  spec.gang.workers.push_back(spec.gang.workers[0]);
  fill_gang(spec);
  EXPECT_FALSE(validate(spec));
  spec.gang.workers[1].replica = 1;
  EXPECT_TRUE(validate(spec));
}

TEST(Validate, refuses_containers_that_cannot_be) {
  using Change = std::function<void(Container&)>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](Container& c) { c.image = ""; }, "container needs an image"},
      {[](Container& c) { c.image = "a b"; }, "image 'a b'"},
      {[](Container& c) { c.image = "a\nb"; }, "without blanks"},
      {[](Container& c) { c.image = "--privileged"; }, "not beginning with '-'"},
      {[](Container& c) { c.runtime = "lxc"; }, "write podman or docker"},
      {[](Container& c) { c.mounts = {"data:/data"}; }, "absolute paths"},
      {[](Container& c) { c.mounts = {"/data"}; }, "absolute paths"},
      {[](Container& c) { c.mounts = {"/a:/b:rw"}; }, "HOST:INSIDE"},
      {[](Container& c) { c.build.dockerfile = "Dockerfile"; }, "must be absolute paths"},
      {[](Container& c) {
         c.build.target = "-x";
         c.build.context = c.build.dockerfile = "/x";
       },
       "begins with '-'"},
      {[](Container& c) {
         c.build = {"/x", "/", "", {"A"}};
       },
       "write NAME=value"},
  };
  for (const auto& [change, message] : cases) {
    JobSpec spec = good();
    spec.container = {"team/x:1", "podman", {}, {"/a:/b:ro"}};
    EXPECT_TRUE(validate(spec));
    change(spec.container);
    const auto checked = validate(spec);
    EXPECT_THAT(checked ? "valid" : checked.error().message, HasSubstr(message)) << message;
  }
}

}  // namespace
}  // namespace tutti
