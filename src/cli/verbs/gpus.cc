#include "cli/output/gpus.h"

#include <poll.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/gpu_views.h"

namespace tutti {
namespace {

constexpr int kRedrawMs = 1000;

constexpr Option kOptions[] = {
    {"watch", 'w', Kind::kFlag, {}, "show the table again every second, until Ctrl-C", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {
    {"tutti gpus", "what they do and who uses them"},
    {"tutti gpus -w", "the same, every second"},
    {"tutti daemon restart --emulate-gpus 4xA100-80G", "GPUs to try everything without one"},
};

Result<boost::json::value> fetch(Session& session) {
  return session.client().request("GET", "/v1/gpus", {});
}

int watch(Session& session) {
  Screen& screen = session.screen();
  Interrupt interrupt;
  while (true) {
    auto answer = fetch(session);
    if (!answer) return session.fail(answer.error());
    screen.out("\033[H\033[2J" + render_gpus(gpus_view(*answer), screen));
    pollfd ctrl_c{interrupt.fd(), POLLIN, 0};
    ::poll(&ctrl_c, 1, kRedrawMs);
    if (interrupt.take()) return kExitOk;
  }
}

int run(Session& session, const Arguments& arguments) {
  Screen& screen = session.screen();
  if (arguments.has("watch")) {
    if (!screen.out_is_terminal() || session.json()) {
      return session.usage_error("--watch needs a terminal");
    }
    return watch(session);
  }
  auto answer = fetch(session);
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(screen, *answer);
  } else {
    screen.out(render_gpus(gpus_view(*answer), screen));
  }
  return kExitOk;
}

}  // namespace

const Verb kGpusVerb{
    .name = "gpus",
    .aliases = kNoAliases,
    .summary = "list GPUs, what they do and who uses them",
    .description =
        "Lists the GPUs with their memory in use, what is reserved of it for jobs and "
        "leases, and how busy they are. WHO are tasks (12 or 12.3), leases, and processes that "
        "Tutti did not start; those are worked around. A GPU with a fault gets no work, and "
        "STATE says why.",
    .usage = "[OPTIONS]",
    .word_choices = {},
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = 0,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
