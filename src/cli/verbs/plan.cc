#include "cli/output/plan.h"

#include <algorithm>
#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/session.h"
#include "cli/speeds.h"
#include "cli/verbs/verbs.h"
#include "core/spec/model_text.h"
#include "core/spec/text.h"
#include "core/speed/plan_cells.h"
#include "core/speed/speed_text.h"

namespace tutti {
namespace {

constexpr Option kOptions[] = {
    {"model", 'm', Kind::kValue, "NAME", "the model, as it was measured, such as bert", {}},
    {"params", 'p', Kind::kValue, "SIZE", "its parameters: 1.3B, 760M", {}},
    {"batch", 'b', Kind::kValue, "N", "samples of one iteration, over all GPUs", {}},
    {"gpus",
     'g',
     Kind::kValue,
     "LIST",
     "GPUs to plan for: 4xA100,8xV100; 2x8xV100 for two nodes (default: those of the nodes, with "
     "--file those in it)",
     {}},
    {"file", 'f', Kind::kValue, "FILE",
     "speeds from this file, JSON or CSV, and not from the daemon; '-' is stdin", "<file>"},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {
    {"tutti plan --model bert --params 1.3B --batch 256", "on the GPUs that there are"},
    {"tutti plan -m bert -p 6.7B -b 512 --gpus 4xA100-80G,2x8xV100", "on those that one could get"},
    {"tutti plan -m moe -p 10B -b 256 --file prof_database.json", "without a daemon"},
};

Result<ModelRun> run_of(const Arguments& arguments) {
  for (const char* needed : {"model", "params", "batch"})
    if (!arguments.has(needed))
      return invalid_input("--" + std::string(needed) +
                           " is missing; such as --model bert --params 1.3B --batch 256");
  ModelRun run{arguments.value("model"), 0, 0};
  if (const auto named = check_model_name(run.name); !named) return named.error();
  const auto parameters = parse_parameters(arguments.value("params"));
  if (!parameters) return invalid_input("--params: " + parameters.error().message);
  const auto batch = parse_batch(arguments.value("batch"));
  if (!batch) return invalid_input("--batch: " + batch.error().message);
  run.parameters = *parameters;
  run.batch = *batch;
  return run;
}

Result<std::vector<DeviceShape>> shapes_of(Session& session, const Arguments& arguments,
                                           const SpeedTable& table) {
  if (arguments.has("gpus")) {
    auto named = parse_device_shapes(arguments.value("gpus"));
    if (!named) return invalid_input("--gpus: " + named.error().message);
    return shapes_within(*named);
  }
  if (arguments.has("file")) return shapes_in(table);
  const auto there = gpus_of_daemon(session);
  if (!there) return there.error();
  if (there->empty())
    return Error{ErrorCode::kNotFound,
                 "no node has a GPU; say which to plan for: --gpus 4xA100,8xV100"};
  return shapes_within(*there);
}

std::string known_models(const SpeedTable& table) {
  if (table.empty()) return "no speed was measured yet: see 'tutti profile run' and 'import'";
  std::string names;
  for (const std::string& name : table.models()) names += (names.empty() ? "" : ", ") + name;
  return "known are " + names;
}

int run(Session& session, const Arguments& arguments) {
  const auto model = run_of(arguments);
  if (!model) return session.usage_error(model.error());
  const auto table =
      arguments.has("file") ? speeds_of_file(arguments.value("file")) : speeds_of_daemon(session);
  if (!table) return session.refuse(table.error());
  const std::vector<std::string> models = table->models();
  if (std::find(models.begin(), models.end(), model->name) == models.end())
    return session.fail(
        not_found("nothing is known of model " + shown(model->name) + "; " + known_models(*table)));
  const auto shapes = shapes_of(session, arguments, *table);
  if (!shapes) return session.refuse(shapes.error());
  const CellPlan plan = plan_of(*model, plan_cells(*table, *model, *shapes));
  if (session.json())
    print_json(session.screen(), plan_to_json(plan));
  else
    session.screen().out(render_cells(plan, session.screen()));
  return kExitOk;
}

}  // namespace

const Verb kPlanVerb{
    .name = "plan",
    .aliases = kNoAliases,
    .summary = "how fast a model would train on which GPUs",
    .description =
        "Shows for every type and number of GPUs and every number of pipeline stages how long an "
        "iteration of a model takes: measured, or estimated (≈) from what was measured of other "
        "sizes, batches, counts and types, with the error that four of five estimates stay "
        "within. Stages that were not measured follow by a simple model (ERROR: model) from the "
        "time of the best plan, whose own stages are then guessed. COST is GPUs × time, "
        "in relation to the cheapest; NEED is the memory of each GPU that weights, gradients and "
        "optimiser take. The marked one is what the scheduler takes for a job that lists all of "
        "them (--configurations) when all are free.\n\n"
        "Speeds come from 'tutti profile run' and 'tutti profile import'.",
    .usage = "--model NAME --params SIZE --batch N [OPTIONS]",
    .word_choices = {},
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = 0,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
