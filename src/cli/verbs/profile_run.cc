#include "cli/verbs/profile_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "cli/environment.h"
#include "cli/follow.h"
#include "cli/output/json.h"
#include "cli/output/plan.h"
#include "cli/output/text.h"
#include "cli/submission.h"
#include "core/spec/model_text.h"
#include "core/spec/text.h"
#include "core/speed/iteration_times.h"
#include "core/speed/speed_text.h"
#include "wire/spec_parts.h"
#include "wire/speed_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// What became of the job that measured.
struct Measurement {
  SpeedCell cell;  // with the nodes that it really had
  Speed speed;
  std::size_t iterations = 0;  // that it reported
};

bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
         });
}

// A value that becomes part of a file's name.
Result<void> take_plain(const Arguments& arguments, std::string_view option, std::string& into) {
  if (!arguments.has(option)) return {};
  into = arguments.value(option);
  if (is_plain(into)) return {};
  return invalid_input("--" + std::string(option) + " " + shown(into) +
                       ": only letters, digits, '_', '-' and '.'");
}

Result<std::uint32_t> take_count(const Arguments& arguments, std::string_view option,
                                 std::uint32_t otherwise, std::uint32_t most) {
  if (!arguments.has(option)) return otherwise;
  const auto number = parse_digits(arguments.value(option), most);
  if (number && *number > 0) return static_cast<std::uint32_t>(*number);
  return invalid_input("--" + std::string(option) + " must be a whole number from 1 to " +
                       std::to_string(most));
}

// A number that becomes part of a file's name and of variables, as it is written shortest.
Result<void> take_number(const Arguments& arguments, std::string_view option, std::uint64_t least,
                         std::string& into) {
  constexpr std::uint64_t kMost = 1'000'000'000;
  if (!arguments.has(option)) return {};
  const auto number = parse_digits(arguments.value(option), kMost);
  if (!number || *number < least)
    return invalid_input(fmt::format("--{} must be a whole number from {} to {}, not {}", option,
                                     least, kMost, shown(arguments.value(option))));
  into = std::to_string(*number);
  return {};
}

Result<void> take_numbers(const Arguments& arguments, ProfileRun& run) {
  for (const auto& [option, into] : {std::pair{"layers", &run.layers},
                                     {"micro-batches", &run.micro_batches},
                                     {"iterations", &run.iterations}})
    if (const auto taken = take_number(arguments, option, 1, *into); !taken) return taken;
  return take_number(arguments, "try", 0, run.attempt);
}

// "2_A100": nodes and the type of their devices.
Result<DeviceShape> parse_hardware(const std::string& text) {
  const std::size_t bar = text.find('_');
  const auto nodes = parse_digits(text.substr(0, bar), kMostShapeNodes);
  const std::string type = bar == text.npos ? "" : text.substr(bar + 1);
  if (!nodes || *nodes == 0 || !is_type_name(type))
    return invalid_input("--hardware " + shown(text) + ": write NODES_TYPE, such as 1_A100");
  return DeviceShape{type, static_cast<std::uint32_t>(*nodes), 1};
}

Result<ModelRun> model_of(const Arguments& arguments) {
  ModelRun run{arguments.value("model"), 0, 0};
  if (const auto named = check_model_name(run.name); !named) return named.error();
  const auto parameters = parse_parameters(arguments.value("params"));
  if (!parameters) return parameters.error();
  const auto batch = parse_batch(arguments.value("batch"));
  if (!batch) return batch.error();
  run.parameters = *parameters;
  run.batch = *batch;
  return run;
}

Result<std::string> plan_of(const Arguments& arguments) {
  constexpr std::pair<std::string_view, std::string_view> kPlans[] = {
      {"data-parallel", "dp"}, {"pipeline", "pp"}, {"tensor", "tp"}, {"manual", "manual"}};
  std::string plan;
  for (const auto& [option, name] : kPlans) {
    if (!arguments.has(option)) continue;
    if (!plan.empty())
      return invalid_input("-o, -f, -g and -a exclude each other: keep one of them");
    plan = name;
  }
  return plan.empty() ? "auto" : plan;
}

// Zero: not definite. Data parallel plans have one.
Result<std::uint32_t> stages_of(const Arguments& arguments, const ProfileRun& run) {
  const std::uint32_t devices = run.cell.shape.devices();
  const bool one = run.plan == "dp";
  const auto stages = take_count(arguments, "stages", one ? 1 : 0, devices);
  if (!stages) return invalid_input(stages.error().message + ", the GPUs of the run");
  if (one && *stages > 1)
    return invalid_input("-o is data parallel, in one stage: leave it or --stages out");
  return stages;
}

json::object job_of(const ProfileRun& run, const std::vector<std::string>& command,
                    const std::string& folder) {
  const DeviceShape& shape = run.cell.shape;
  Environment environment = Environment::of_process(false);
  json::array words;
  for (const std::string& word : command) words.push_back(text_to_json(word));
  json::object job{
      {"name",
       text_to_json(run.job.empty() ? "profile-" + format_model_run(run.cell.run) : run.job)},
      {"kind", text_to_json(run.kind())},
      {"command", std::move(words)},
      {"workdir", text_to_json(folder)},
      {"gpus", text_to_json(shape.type + ":" + std::to_string(shape.per_node))},
      {"share", "never"}};
  for (const std::string& variable : run.variables())
    static_cast<void>(environment.apply(variable));
  job["env"] = env_to_json(environment.variables());
  job["remote_env"] = env_to_json(run.variables());
  std::string log = folder + "/" + run.log_path();
  for (std::size_t at = log.find('%'); at != log.npos; at = log.find('%', at + 2))
    log.insert(at, "%");
  if (shape.nodes > 1) {
    log.insert(log.size() - 4, ".rank%t");
    job["workers"] = json::array{json::object{{"count", shape.nodes}}};
  }
  job["output"] = text_to_json(log);
  job["error"] = text_to_json(log);
  return job;
}

// The file in which the first or only rank's output is.
std::string first_log(const ProfileRun& run) {
  std::string path = run.log_path();
  if (run.cell.shape.nodes > 1) path.insert(path.size() - 4, ".rank0");
  return path;
}

// Ranks may have been put together on fewer nodes than were asked for: what was measured counts.
Result<Measurement> measure(Session& session, const ProfileRun& run, const JobView& job) {
  const auto answer =
      session.client().request("GET", fmt::format("/v1/jobs/{}/tasks?limit=1000", job.id), {});
  if (!answer) return answer.error();
  Measurement measured{run.cell, {}, 0};
  std::set<std::string> nodes;
  bool out_of_memory = false;
  for (const TaskView& task : task_views(*answer)) {
    nodes.insert(task.node);
    out_of_memory = out_of_memory || task.ending == "gpu_out_of_memory";
  }
  DeviceShape& shape = measured.cell.shape;
  const std::uint32_t devices = shape.devices();
  if (!nodes.empty() && devices % nodes.size() == 0) {
    shape.nodes = static_cast<std::uint32_t>(nodes.size());
    shape.per_node = devices / shape.nodes;
  }
  if (out_of_memory) return measured;
  if (job.state != "succeeded")
    return Error{ErrorCode::kInternal,
                 fmt::format("job {} {}; its output is in {}", job.id, job.state, first_log(run))};
  std::ifstream file(first_log(run), std::ios::binary);
  const std::string output((std::istreambuf_iterator<char>(file)), {});
  const std::vector<double> times = parse_iteration_times(output);
  const auto settled = settled_time(times);
  if (!settled)
    return not_found(fmt::format(
        "{} has {} such as 'iteration_time: 0.123': the command must print one for each "
        "iteration, in seconds{}",
        first_log(run), times.empty() ? "no line" : "one line only",
        times.empty() ? "" : ", and the first is warming up"));
  measured.speed.seconds = *settled;
  measured.iterations = times.size();
  return measured;
}

int report(Session& session, const ProfileRun& run, const Measurement& measured) {
  SpeedTable table;
  table.set(measured.cell, measured.speed);
  const auto told =
      session.client().request("POST", "/v1/speeds", json_text(speeds_to_json(table)));
  if (!told) return session.fail(told.error());
  if (session.json()) {
    print_json(session.screen(),
               json::object{{"model", text_to_json(format_model_run(measured.cell.run))},
                            {"cell", text_to_json(cell_name(measured.cell))},
                            {"fits", measured.speed.fits()},
                            {"seconds", measured.speed.fits() ? json::value(measured.speed.seconds)
                                                              : json::value()},
                            {"iterations", measured.iterations},
                            {"log", text_to_json(first_log(run))}});
    return kExitOk;
  }
  std::string what =
      fmt::format("{} on {}", format_model_run(measured.cell.run), shape_text(measured.cell.shape));
  if (measured.cell.stages > 0) what += " in " + counted(measured.cell.stages, "stage");
  session.screen().out(
      measured.speed.fits()
          ? fmt::format("{}: {} an iteration ({} reported)\n", printable(what),
                        iteration_text(measured.speed.seconds), grouped(measured.iterations))
          : fmt::format("{}: does not fit the memory of the GPUs\n", printable(what)));
  return kExitOk;
}

}  // namespace

std::string ProfileRun::kind() const {
  return fmt::format("profile:{}_{}{}", format_model_run(cell.run), column_name(cell.shape),
                     details());
}

std::string ProfileRun::details() const {
  std::string text;
  if (!layers.empty()) text += "_layers_" + layers;
  if (!micro_batches.empty()) text += "_mb_" + micro_batches;
  // The name of a data parallel plan says it already.
  if (cell.stages > 0 && plan != "dp") text += "_stages_" + std::to_string(cell.stages);
  return text + "_" + plan;
}

std::string ProfileRun::log_path() const {
  const DeviceShape& shape = cell.shape;
  return fmt::format(
      "profile_result/{}_nodes_{}_devices_per_node/{}/{}_{}/bs_{}_params_{}{}_try_{}.log",
      shape.nodes, shape.per_node, hardware, cell.run.name, dataset, cell.run.batch,
      format_parameters(cell.run.parameters), details(), attempt);
}

std::vector<std::string> ProfileRun::variables() const {
  std::vector<std::string> all = {"TUTTI_PROFILE_MODEL=" + cell.run.name,
                                  "TUTTI_PROFILE_PARAMS=" + format_parameters(cell.run.parameters),
                                  "TUTTI_PROFILE_BATCH=" + std::to_string(cell.run.batch),
                                  "TUTTI_PROFILE_NODES=" + std::to_string(cell.shape.nodes),
                                  "TUTTI_PROFILE_DEVICES=" + std::to_string(cell.shape.per_node),
                                  "TUTTI_PROFILE_HARDWARE=" + hardware,
                                  "TUTTI_PROFILE_DATASET=" + dataset,
                                  "TUTTI_PROFILE_PLAN=" + plan};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) all.push_back(std::string(name) + "=" + value);
  };
  if (cell.stages > 0) add("TUTTI_PROFILE_STAGES", std::to_string(cell.stages));
  add("TUTTI_PROFILE_LAYERS", layers);
  add("TUTTI_PROFILE_MICRO_BATCHES", micro_batches);
  add("TUTTI_PROFILE_ITERATIONS", iterations);
  add("RAY_ADDRESS", ray_address);
  return all;
}

Result<ProfileRun> profile_run_of(const Arguments& arguments) {
  for (const char* needed : {"hardware", "model", "params", "batch"})
    if (!arguments.has(needed))
      return invalid_input("--" + std::string(needed) +
                           " is missing; such as -x 1_A100 -d 4 -m bert -p 1.3B -b 128");
  ProfileRun run;
  run.hardware = arguments.value("hardware");
  const auto hardware = parse_hardware(run.hardware);
  if (!hardware) return hardware.error();
  run.cell.shape = *hardware;
  const auto nodes = take_count(arguments, "nodes", hardware->nodes, kMostShapeNodes);
  if (!nodes) return nodes.error();
  const auto devices = take_count(arguments, "devices", 1, kMostDevices);
  if (!devices) return devices.error();
  run.cell.shape.nodes = *nodes;
  run.cell.shape.per_node = *devices;
  const auto model = model_of(arguments);
  if (!model) return model.error();
  run.cell.run = *model;
  auto plan = plan_of(arguments);
  if (!plan) return plan.error();
  run.plan = *std::move(plan);
  const auto stages = stages_of(arguments, run);
  if (!stages) return stages.error();
  run.cell.stages = *stages;
  if (const auto taken = take_numbers(arguments, run); !taken) return taken.error();
  if (const auto taken = take_plain(arguments, "dataset", run.dataset); !taken)
    return taken.error();
  run.job = arguments.value("job");
  run.ray_address = arguments.value("ray-address");
  return run;
}

int profile_run(Session& session, const Arguments& arguments,
                const std::vector<std::string>& command) {
  const auto run = profile_run_of(arguments);
  if (!run) return session.usage_error(run.error());
  if (command.empty())
    return session.usage_error("no command; write it after --, such as -- python train.py");
  std::error_code failure;
  const std::string folder = std::filesystem::current_path(failure);
  if (!failure)
    std::filesystem::create_directories(std::filesystem::path(run->log_path()).parent_path(),
                                        failure);
  if (failure)
    return session.fail(
        io_error("cannot create the folder of " + run->log_path(), failure.value()));
  const auto submitted = submit_jobs(session, {job_of(*run, command, folder)});
  if (!submitted) return session.refuse(submitted.error());
  FollowOptions options;
  options.job = submitted->ids.front();
  options.say_why_waiting = !session.json();
  options.cancel_on_interrupt = true;
  const auto followed = follow(session, options);
  if (!followed) return session.fail(followed.error());
  const auto measured = measure(session, *run, followed->job);
  if (!measured) return session.fail(measured.error());
  return report(session, *run, *measured);
}

}  // namespace tutti
