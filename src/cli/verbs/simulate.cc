#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "base/home.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/progress.h"
#include "cli/output/simulation.h"
#include "cli/session.h"
#include "cli/speeds.h"
#include "cli/verbs/verbs.h"
#include "core/plan/ordering.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr Option kWorkOptions[] = {
    {"from-history", 0, Kind::kFlag, {}, "simulate what this home has run", {}},
    {"since", 0, Kind::kValue, "TIME", "with --from-history: only the last 7d, 12h and so on", {}},
    {"format", 0, Kind::kValue, "yaml|philly|swf", "of FILE (default: as it looks)",
     "yaml philly swf"},
    {"cluster", 0, Kind::kValue, "FILE", "run it on this cluster instead", "<file>"},
    {"add-nodes",
     0,
     Kind::kValue,
     "NxTYPE:GPUS",
     "add nodes: 2xA100:8, or 4xcpu:64; comma lists",
     {}},
    {"speeds", 0, Kind::kValue, "FILE",
     "measured speeds of models, JSON or CSV (default with --from-history: those of this home)",
     "<file>"},
    {"jobs-scale", 0, Kind::kValue, "X", "so many times as many jobs, such as 1.5", {}},
};
constexpr Option kPolicyOptions[] = {
    {"policy", 0, Kind::kValue, "NAME",
     "fair (default), fifo, backfill, srtf or las; for a benchmark also tutti (its default), sia, "
     "gavel, cells or optimus",
     "fair fifo backfill srtf las tutti sia gavel cells optimus"},
    {"compare", 0, Kind::kValue, "A,B,…", "several policies side by side", {}},
    {"seed", 0, Kind::kValue, "N", "for what is left to chance (default 1)", {}},
};
constexpr Option kBenchmarkOptions[] = {
    {"benchmark", 0, Kind::kValue, "NAME", "arena-1280, pollux-64 or sia-64",
     "arena-1280 pollux-64 sia-64"},
    {"data", 0, Kind::kValue, "FOLDER", "where the benchmarks' data are", "<folder>"},
    {"workload", 0, Kind::kValue, "FILE", "the benchmark's trace, below FOLDER or anywhere",
     "<file>"},
    {"knowledge", 0, Kind::kValue, "cold|warm",
     "whether speeds are known at the start (cold); in arena-1280 they are", "cold warm"},
    {"length", 0, Kind::kValue, "declared|oblivious|noisy",
     "what is known of how long jobs are (declared)", "declared oblivious noisy"},
    {"rounds",
     0,
     Kind::kValue,
     "N",
     "end after so many rounds of 60 s, in arena-1280 of 300 s (there 2,000, else when all ends)",
     {}},
    {"restart-cost", 0, Kind::kValue, "crius|others", "what a restart costs in arena-1280 (crius)",
     "crius others"},
    {"timing",
     0,
     Kind::kFlag,
     {},
     "also tell how long decisions took, which differs from run to run",
     {}},
};
constexpr Option kOutputOptions[] = {
    {"report", 0, Kind::kValue, "FILE", "write a page with pictures, such as out.html", "<file>"},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Work and cluster", kWorkOptions},
                                   {"Policies", kPolicyOptions},
                                   {"Benchmarks", kBenchmarkOptions},
                                   {"Output", kOutputOptions}};
constexpr Example kExamples[] = {
    {"tutti simulate --from-history --since 7d --add-nodes 2xA100:8",
     "last week, had there been two nodes more"},
    {"tutti simulate plan.yaml --compare fair,fifo,backfill", "which policy suits this work"},
    {"tutti simulate trace.swf --jobs-scale 1.5 --report out.html", "half as much work again"},
};

constexpr std::string_view kBenchmarks[] = {"arena-1280", "pollux-64", "sia-64"};
constexpr std::string_view kKnowledge[] = {"cold", "warm"};
constexpr std::string_view kLengths[] = {"declared", "oblivious", "noisy"};
constexpr std::string_view kCosts[] = {"crius", "others"};
constexpr std::string_view kFormats[] = {"yaml", "philly", "swf"};

// The option's value if it is among the words; `otherwise` if it was not given.
Result<std::string> choice(const Arguments& arguments, std::string_view option,
                           std::span<const std::string_view> words, std::string_view otherwise) {
  if (!arguments.has(option)) return std::string(otherwise);
  std::string given = arguments.value(option);
  if (std::find(words.begin(), words.end(), given) != words.end()) return given;
  std::string known;
  for (const std::string_view word : words)
    known += (known.empty() ? "" : ", ") + std::string(word);
  return invalid_input(std::string(option) + ": " + shown(given) + " is none of " + known +
                       did_you_mean(given, words));
}

template <typename T>
Result<void> put(Result<T> read, T& into) {
  if (!read) return read.error();
  into = *std::move(read);
  return {};
}

Result<double> parse_scale(const std::string& text) {
  double scale = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (code != std::errc() || end != text.data() + text.size() || !(scale > 0) || scale > 1000)
    return invalid_input("jobs-scale: " + shown(text) +
                         " is no number above 0 and up to 1000; write for instance 1.5");
  return scale;
}

Result<std::vector<std::string>> read_policies(const Arguments& arguments) {
  if (arguments.has("policy") && arguments.has("compare"))
    return invalid_input("--policy and --compare exclude each other; --compare names them all");
  if (!arguments.has("compare")) {
    const char* usual = arguments.has("benchmark") ? "tutti" : "fair";
    return std::vector{arguments.has("policy") ? arguments.value("policy") : usual};
  }
  const std::string given = arguments.value("compare");
  std::vector<std::string> policies;
  for (const std::string_view name : split_commas(given)) {
    if (std::find(policies.begin(), policies.end(), name) != policies.end())
      return invalid_input("compare: " + shown(name) + " is there twice");
    policies.emplace_back(name);
  }
  return policies;
}

// What only makes sense with one source of work must not be said with another.
Result<void> check_sources(const Arguments& arguments) {
  const bool benchmark = arguments.has("benchmark");
  const bool history = arguments.has("from-history");
  const int sources = (benchmark ? 1 : 0) + (history ? 1 : 0) + (arguments.words().empty() ? 0 : 1);
  if (sources == 0)
    return invalid_input(
        "what shall be simulated? Name a FILE, or say --from-history or "
        "--benchmark NAME");
  if (sources > 1)
    return invalid_input("a FILE, --from-history and --benchmark exclude each other; keep one");
  if (arguments.has("since") && !history) return invalid_input("--since needs --from-history");
  if (arguments.has("format") && arguments.words().empty())
    return invalid_input("--format is for a FILE");
  for (const Option& option : kBenchmarkOptions) {
    if (!benchmark && arguments.has(option.name))
      return invalid_input("--" + std::string(option.name) + " needs --benchmark");
  }
  for (const char* option : {"cluster", "add-nodes", "jobs-scale", "speeds"}) {
    if (benchmark && arguments.has(option))
      return invalid_input("--" + std::string(option) +
                           " is not for benchmarks, whose clusters and jobs are fixed");
  }
  return {};
}

Result<void> read_benchmark(const Arguments& arguments, SimulationRequest& request) {
  if (!arguments.has("benchmark")) return {};
  if (auto done = put(choice(arguments, "benchmark", kBenchmarks, ""), request.benchmark); !done)
    return done;
  for (const char* option : {"data", "workload"}) {
    if (arguments.value(option).empty())
      return invalid_input("--benchmark needs --data FOLDER and --workload FILE");
  }
  request.data = arguments.value("data");
  request.workload = arguments.value("workload");
  request.timing = arguments.has("timing");
  if (auto done = put(choice(arguments, "knowledge", kKnowledge, ""), request.knowledge); !done)
    return done;
  if (auto done = put(choice(arguments, "length", kLengths, "declared"), request.length); !done)
    return done;
  if (auto done = put(choice(arguments, "restart-cost", kCosts, ""), request.restart_cost); !done)
    return done;
  if (!arguments.has("rounds")) return {};
  return put(parse_count("rounds", arguments.value("rounds"), 1, 100'000'000), request.rounds);
}

Result<void> read_work(Session& session, const Arguments& arguments, SimulationRequest& request) {
  request.files = arguments.words();
  if (auto done = put(choice(arguments, "format", kFormats, ""), request.format); !done)
    return done;
  request.from_history = arguments.has("from-history");
  if (request.from_history) {
    if (auto done = put(home_folder(), request.home); !done) return done;
  }
  if (arguments.has("since")) {
    const auto since = parse_duration(arguments.value("since"));
    if (!since) return invalid_input("since: " + since.error().message);
    request.since = session.now() - *since;
  }
  request.cluster = arguments.value("cluster");
  if (arguments.has("add-nodes")) {
    auto done = put(parse_node_groups(arguments.value("add-nodes")), request.add_nodes);
    if (!done) return done;
  }
  if (arguments.has("speeds")) {
    if (auto done = put(speeds_of_file(arguments.value("speeds")), request.speeds); !done)
      return done;
  }
  if (!arguments.has("jobs-scale")) return {};
  return put(parse_scale(arguments.value("jobs-scale")), request.jobs_scale);
}

Result<SimulationRequest> read_request(Session& session, const Arguments& arguments) {
  SimulationRequest request;
  if (auto done = check_sources(arguments); !done) return done.error();
  if (auto done = put(read_policies(arguments), request.policies); !done) return done.error();
  request.compares = arguments.has("compare");
  if (auto done = read_benchmark(arguments, request); !done) return done.error();
  if (auto done = read_work(session, arguments, request); !done) return done.error();
  if (arguments.has("seed")) {
    const auto seed = parse_digits(arguments.value("seed"), UINT64_MAX);
    if (!seed)
      return invalid_input("seed: " + shown(arguments.value("seed")) + " is no whole number");
    request.seed = *seed;
  }
  request.json = session.json();
  request.report = arguments.value("report");
  if (arguments.has("report") && request.report.empty())
    return invalid_input("report: name a file, such as out.html");
  return request;
}

int run(Session& session, const Arguments& arguments) {
  Screen& screen = session.screen();
  auto request = read_request(session, arguments);
  if (!request) return session.refuse(request.error());
  ProgressBar bar(screen);
  SimulationSinks sinks;
  if (session.json()) {
    sinks.json = [&](std::string_view piece) {
      bar.clear();
      screen.out(piece);
    };
  }
  if (screen.err_is_terminal()) {
    sinks.progress = [&](std::string_view line) { bar.show(std::string(line)); };
  }
  const auto runs = session.entries().simulate(*request, sinks);
  bar.clear();
  if (!runs) return session.refuse(runs.error());
  if (session.json()) return kExitOk;
  screen.out(render_simulation(*runs, screen));
  if (!request->report.empty()) screen.out("\nThe report is in " + request->report + ".\n");
  return kExitOk;
}

}  // namespace

const Verb kSimulateVerb{
    .name = "simulate",
    .aliases = kNoAliases,
    .summary = "try work on another cluster, or under another policy",
    .description =
        "Runs work on a virtual clock with the daemon's own scheduler and tells how it would "
        "have gone. The work is what this home has run (--from-history), a YAML file, a CSV of "
        "GPU jobs (philly) or a trace in the Standard Workload Format (swf). Nothing is executed, "
        "and a daemon is not disturbed.\n\n"
        "Completion times are over all submitted jobs. Of several policies the best value is "
        "marked with a star. Results depend on the input and --seed alone.\n\n"
        "--benchmark runs one of the published benchmarks of elastic training in its own "
        "physics. Its rounds call the elastic policies directly, not through the scheduler of the "
        "daemon, which has none of them yet.",
    .usage = "[OPTIONS] [FILE…]",
    .word_choices = "<file>",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = 100,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
