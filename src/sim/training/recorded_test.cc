#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/spec/yaml_tree.h"
#include "sim/csv_table.h"
#include "sim/training/training.h"
#include "tests/support/benchmark_data.h"

namespace tutti {
namespace {

constexpr double kEnd = 60 * 3600;

// The nodes of a job's devices, those of one node side by side: "0 0 1" is two and one.
Layout layout_of(const std::vector<std::string>& nodes) {
  Layout layout;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0 && nodes[i] == nodes[i - 1]) {
      ++layout.back();
    } else {
      layout.push_back(1);
    }
  }
  return layout;
}

// The jobs of a workload, driven by recorded decisions in place of a policy.
class Replay {
 public:
  Replay(const std::string& data, TrainingBenchmark benchmark, const std::string& workload,
         std::span<const std::string> types, bool adaptive)
      : rules_(training_rules(benchmark)) {
    const CsvTable table = *CsvTable::read(workload);
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const std::string name = table.text(i, *table.column("application"));
      if (!applications_.contains(name))
        applications_.emplace(name, *read_application(data, name, types));
      const Application& application = applications_.at(name);
      std::optional<double> batch;
      if (!adaptive || !application.adapts) batch = *table.number(i, *table.column("batch_size"));
      jobs_[table.text(i, 0)] = std::make_unique<Trainee>(application, rules_, batch);
      submits_[table.text(i, 0)] = *table.number(i, 1);
    }
  }

  // From then on; no node: it is suspended.
  void gets(double at_s, const std::string& job, const std::string& type,
            const std::vector<std::string>& nodes) {
    changes_[at_s].push_back({job, type, layout_of(nodes)});
  }
  // The next batch that the job chooses.
  void chooses(const std::string& job, std::uint32_t local, std::uint32_t accumulated) {
    batches_[job].push_back({local, accumulated, 0});
  }

  void run(double round_s) {
    for (auto& [name, batches] : batches_) {
      jobs_.at(name)->set_chooser(
          [&batches = batches](const std::string&, const Layout&,
                               std::uint32_t) -> std::optional<BatchChoice> {
            if (batches.empty()) return BatchChoice{1, 0, 0};
            const BatchChoice next = batches.front();
            batches.pop_front();
            return next;
          });
    }
    for (double now = round_s; now < kEnd; now += round_s) {
      for (auto& [name, job] : jobs_) job->advance(round_s);
      for (const Change& change : changes_[now]) {
        Trainee& job = *jobs_.at(change.job);
        if (!job.finished()) job.place(change.type, change.layout, true);
      }
    }
  }

  // Seconds from submission to end.
  double time_of(const std::string& job) const {
    return jobs_.at(job)->finish_s().value_or(kEnd) - submits_.at(job);
  }
  std::uint32_t restarts_of(const std::string& job) const { return jobs_.at(job)->restarts(); }

 private:
  struct Change {
    std::string job;
    std::string type;
    Layout layout;
  };
  TrainingRules rules_;
  std::map<std::string, Application> applications_;
  std::map<std::string, std::unique_ptr<Trainee>> jobs_;
  std::map<std::string, double> submits_;
  std::map<double, std::vector<Change>> changes_;
  std::map<std::string, std::deque<BatchChoice>> batches_;
};

// How a replay ended, against the record.
struct Compared {
  std::size_t ends = 0;
  std::size_t restarts = 0;
  double mean_s = 0;
  double recorded_mean_s = 0;
  void add(const Replay& replay, const std::string& job, double time_s, std::uint32_t restarts_of) {
    ends += replay.time_of(job) == time_s;
    restarts += replay.restarts_of(job) == restarts_of;
    mean_s += replay.time_of(job);
    recorded_mean_s += time_s;
  }
};

// Of a map; a bug in the test's data ends it.
const YamlNode& member(const YamlNode& map, const std::string& key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) return map.items[i];
  }
  throw std::out_of_range(key);
}

class RecordedDecisions : public BenchmarkTest {
 protected:
  RecordedDecisions() : BenchmarkTest(TUTTI_BENCHMARK_FOLDER) {}

  std::string expected(const std::string& file) const {
    return data_ + "/physics/expected/" + file;
  }

  Replay philly(const std::string& policy, bool adaptive) const {
    const std::array<std::string, 3> types = {"aws", "dgx-ext", "rtx"};
    Replay replay(data_, TrainingBenchmark::kSia64, data_ + "/sia/workloads/philly/workload-1.csv",
                  types, adaptive);
    const CsvTable table = *CsvTable::read(expected(policy + "_philly-1_alloc.csv"));
    for (std::size_t i = 0; i < table.rows(); ++i) {
      std::istringstream words(table.text(i, 3));
      const std::vector<std::string> nodes(std::istream_iterator<std::string>(words), {});
      replay.gets(*table.number(i, 0), table.text(i, 1), table.text(i, 2), nodes);
    }
    return replay;
  }

  Compared compare(const Replay& replay, const std::string& file) const {
    const CsvTable table = *CsvTable::read(expected(file));
    Compared compared;
    for (std::size_t i = 0; i < table.rows(); ++i)
      compared.add(replay, table.text(i, 0), *table.number(i, 3), *table.count(i, 4));
    return compared;
  }

  // The first jobs of a workload of Pollux-64, which change their shape again and again.
  Compared run_adaptive(bool batches_as_recorded) const {
    const std::array<std::string, 1> types = {"aws"};
    Replay replay(data_, TrainingBenchmark::kPollux64, expected("pollux_w6head60.csv"), types,
                  true);
    const auto text = read_whole_file(expected("pollux_adaptive_w6head60.json"));
    const YamlNode record = *parse_yaml(*text, "record");
    const YamlNode& changes = member(record, "alloc");
    for (std::size_t i = 0; i < changes.keys.size(); ++i) {
      const YamlNode& jobs = changes.items[i];
      for (std::size_t j = 0; j < jobs.keys.size(); ++j) {
        std::vector<std::string> nodes;
        for (const YamlNode& node : jobs.items[j].items) nodes.push_back(node.text);
        replay.gets(std::stod(changes.keys[i].text), jobs.keys[j].text, "aws", nodes);
      }
    }
    const YamlNode& batches = member(record, "batch");
    for (std::size_t j = 0; batches_as_recorded && j < batches.keys.size(); ++j) {
      for (const YamlNode& choice : batches.items[j].items)
        replay.chooses(batches.keys[j].text,
                       static_cast<std::uint32_t>(std::stoul(choice.items.at(2).text)),
                       static_cast<std::uint32_t>(std::stoul(choice.items.at(3).text)));
    }
    replay.run(60);
    Compared compared;
    const YamlNode& times = member(record, "jct");
    for (std::size_t j = 0; j < times.keys.size(); ++j) {
      const std::string& job = times.keys[j].text;
      compared.add(
          replay, job, std::stod(times.items[j].text),
          static_cast<std::uint32_t>(std::stoul(member(member(record, "restarts"), job).text)));
    }
    return compared;
  }
};

TEST_F(RecordedDecisions, of_sia_end_all_jobs_as_recorded) {
  Replay replay = philly("sia", true);
  const CsvTable table = *CsvTable::read(expected("sia_philly-1_batch.csv"));
  for (std::size_t i = 0; i < table.rows(); ++i)
    replay.chooses(table.text(i, 0), *table.count(i, 4), *table.count(i, 5));
  replay.run(60);
  const Compared compared = compare(replay, "sia_philly-1_60s.csv");
  EXPECT_EQ(compared.ends, 160u);
  EXPECT_EQ(compared.restarts, 160u);
}

TEST_F(RecordedDecisions, of_gavel_end_all_jobs_as_recorded) {
  Replay replay = philly("gavel", false);
  replay.run(360);
  const Compared compared = compare(replay, "gavel_philly-1_360s.csv");
  EXPECT_EQ(compared.ends, 160u);
  EXPECT_EQ(compared.restarts, 160u);
}

TEST_F(RecordedDecisions, of_sia_with_batches_of_our_own) {
  Replay replay = philly("sia", true);
  replay.run(60);
  const Compared compared = compare(replay, "sia_philly-1_60s.csv");
  EXPECT_NEAR(compared.mean_s / compared.recorded_mean_s, 1, 0.005);
  EXPECT_GE(compared.ends, 150u);
}

TEST_F(RecordedDecisions, on_pollux_64_end_all_adaptive_jobs_as_recorded) {
  const Compared compared = run_adaptive(true);
  EXPECT_EQ(compared.ends, 60u);
  EXPECT_EQ(compared.restarts, 60u);
}

TEST_F(RecordedDecisions, on_pollux_64_with_batches_of_our_own) {
  const Compared compared = run_adaptive(false);
  EXPECT_NEAR(compared.mean_s / compared.recorded_mean_s, 1, 0.005);
  EXPECT_GE(compared.ends, 40u);
}

}  // namespace
}  // namespace tutti
