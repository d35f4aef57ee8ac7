#pragma once

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/session.h"

namespace tutti {

inline constexpr Option kAddOptions[] = {
    {"name", 'n', Kind::kValue, "NAME", "what to call it (default: the host)", {}},
    {"key", 0, Kind::kValue, "FILE", "private key to log in with", "<file>"},
    {"gpus", 'g', Kind::kValue, "LIST", "use only these GPUs: 0,2 or none (default: all)", {}},
    {"max-jobs",
     0,
     Kind::kValue,
     "N",
     "at most so many jobs at once (default: as many as fit)",
     {}},
    {"label", 0, Kind::kList, "NAME", "a label for --on and --label (repeatable)", {}},
    {"labels", 0, Kind::kList, "A,B", "several of them", {}},
    {"patience",
     0,
     Kind::kValue,
     "TIME",
     "how long jobs wait for a machine that is cut off (default 2m)",
     {}},
    {"ports", 0, Kind::kValue, "A-B", "TCP ports that workers may be granted (20000-29999)", {}},
    {"keep", 0, Kind::kFlag, {}, "keep it although it cannot be reached now", {}},
};

// `nodes add`: adds all machines at once and tells what each has, or why it cannot be used.
int add_nodes(Session& session, const Arguments& arguments);

}  // namespace tutti
