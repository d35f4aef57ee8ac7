#pragma once

#include <array>

#include "cli/verb.h"

namespace tutti {

// Options that several verbs share. The names of kJobOptions and kResourceOptions, with '_' for
// '-', are the field names of the API and of job files.

using Kind = Option::Kind;

inline constexpr Option kResourceOptions[] = {
    {"cpus", 0, Kind::kValue, "N", "cores for each task: 2, 0.5 or 500m (default 1)", {}},
    {"mem",
     0,
     Kind::kValue,
     "SIZE",
     "memory for each task, such as 20G; enforced where possible",
     {}},
    {"gpus", 'g', Kind::kValue, "N", "GPUs for each task: 2, A100 or A100:2", {}},
    {"configurations",
     0,
     Kind::kValue,
     "LIST",
     "instead of --gpus: several that would do, such as 4xA100,8xV100; the fastest that is free",
     {}},
    {"model",
     0,
     Kind::kValue,
     "RUN",
     "what it trains, as MODEL_PARAMETERS_BATCH: bert_1.3B_256 (see tutti plan)",
     {}},
    {"gpu-mem", 0, Kind::kValue, "SIZE", "memory on each GPU, such as 20G (default: measured)", {}},
    {"gpu-util", 0, Kind::kValue, "PART", "part of each GPU's compute: 0.5 or 50%", {}},
    {"exclusive", 0, Kind::kFlag, {}, "share its GPUs with nobody, as --share never", {}},
    {"share",
     0,
     Kind::kValue,
     "auto|never",
     "whether GPUs may be shared (default auto: as measured)",
     {}},
    {"gpu-policy",
     0,
     Kind::kValue,
     "pack|spread",
     "the fullest GPU that suffices (default), or the emptiest",
     {}},
    {"time", 0, Kind::kValue, "TIME", "end a task after 1h30m, 01:30:00 or 90 (seconds)", {}},
    {"grace", 0, Kind::kValue, "TIME", "time between SIGTERM and SIGKILL (default 10s)", {}},
    {"label", 0, Kind::kList, "NAME", "run only on nodes with this label (repeatable)", {}},
};

inline constexpr Option kJobOptions[] = {
    {"name", 'n', Kind::kValue, "NAME", "a name for tables and for %n in --output", {}},
    {"priority", 0, Kind::kValue, "N", "larger starts sooner (default 0)", {}},
    {"project", 0, Kind::kValue, "NAME", "whose share is used", {}},
    {"kind", 0, Kind::kValue, "NAME", "jobs of one kind are expected to behave alike", {}},
    {"after",
     0,
     Kind::kList,
     "JOB[:WHEN]",
     "start only after JOB ended with success (default), any or failure; 'last' works; "
     "repeatable, comma lists",
     {}},
    {"max-parallel", 0, Kind::kValue, "N", "how many tasks of the job may run at once", {}},
    {"retries", 0, Kind::kValue, "N", "run a failed task again up to N times", {}},
    {"backoff",
     0,
     Kind::kValue,
     "TIME",
     "pause before the first retry, then doubled (default 1s)",
     {}},
    {"env",
     0,
     Kind::kList,
     "NAME=VALUE",
     "set a variable; NAME alone takes yours (repeatable)",
     {}},
    {"clean-env",
     0,
     Kind::kFlag,
     {},
     "send only PATH, HOME, USER, SHELL, LANG, TERM and TMPDIR of the environment",
     {}},
    {"workdir", 'C', Kind::kValue, "FOLDER", "run there (default: the current folder)", "<folder>"},
    {"output", 'o', Kind::kValue, "PATTERN",
     "file for its output, stderr too without --error; %j job, %t task, %l line, %a attempt, %n "
     "name, %u user",
     "<file>"},
    {"error", 0, Kind::kValue, "PATTERN", "file for stderr, likewise", "<file>"},
    {"on",
     0,
     Kind::kValue,
     "WHERE",
     "run on one of these nodes: names or labels, such as box1,box2 or pool; the work directory "
     "is copied there",
     {}},
    {"results",
     0,
     Kind::kList,
     "PATH",
     "with --on: bring this back, relative to the work directory (repeatable, comma lists)",
     {}},
    {"results-to", 0, Kind::kValue, "PATTERN",
     "folder for the results (default results/%j, with .%t for several tasks)", "<folder>"},
    {"no-copy", 0, Kind::kFlag, {}, "with --on: do not copy the work directory", {}},
    {"snapshot",
     0,
     Kind::kFlag,
     {},
     "run in a copy of the work directory as it is now, without .git and what .gitignore and "
     ".tuttiignore leave out",
     {}},
};

inline constexpr Option kManyTasksOptions[] = {
    {"array",
     0,
     Kind::kValue,
     "RANGE",
     "one task for each of 1-100, 0-9:2 or 1-100%4 (4 at once)",
     {}},
    {"workers",
     0,
     Kind::kValue,
     "N",
     "N tasks that start together and are told of each other ($TUTTI_RANK); --cpus and others are "
     "for each",
     {}},
    {"framework",
     0,
     Kind::kValue,
     "NAME",
     "with workers: how they are told also, such as pytorch, tf, jax, ray or mpi",
     {}},
};

inline constexpr Option kHelpOption{"help", 'h', Kind::kFlag, {}, "show this help", {}};
inline constexpr Option kJsonOption{"json", 0, Kind::kFlag, {}, "print one JSON object", {}};

inline constexpr Option kDryRunOption{
    "dry-run", 0, Kind::kFlag, {}, "say whether and when it would start, and submit nothing", {}};
inline constexpr Option kNoContainerOption{
    "no-container",
    0,
    Kind::kFlag,
    {},
    "run the commands of a job file or manifest as processes, not in its container image",
    {}};

inline constexpr Option kHelpOnly[] = {kHelpOption};
inline constexpr Option kJsonAndHelp[] = {kJsonOption, kHelpOption};

inline constexpr std::array<std::string_view, 0> kNoAliases{};

}  // namespace tutti
