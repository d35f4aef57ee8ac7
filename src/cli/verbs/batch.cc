#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/follow_batch.h"
#include "cli/job_options.h"
#include "cli/job_request.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/read_text.h"
#include "cli/session.h"
#include "cli/submission.h"
#include "cli/verbs/verbs.h"
#include "core/spec/batch_file.h"
#include "wire/batch_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::size_t kLargestBatch = std::size_t{200} << 20;

constexpr Option kOwnOptions[] = {
    {"each-line",
     0,
     Kind::kValue,
     "TEMPLATE",
     "every line is a value: put it, quoted, where TEMPLATE has {}, or at its end",
     {}},
    {"from-json",
     0,
     Kind::kFlag,
     {},
     "the file is a JSON array, or one JSON value on each line; see --template",
     {}},
    {"template",
     0,
     Kind::kValue,
     "TEMPLATE",
     "with --from-json: the command, with {key} for values of objects, {} for single values",
     {}},
    {"detach", 0, Kind::kFlag, {}, "return at once", {}},
    kDryRunOption,
    {"quiet", 'q', Kind::kFlag, {}, "no summary; with --detach print only the job's id", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {
    {"Options", kOwnOptions}, {"Job", kJobOptions}, {"Resources", kResourceOptions}};
constexpr Example kExamples[] = {
    {"tutti batch commands.txt", "run every line, as many at once as fit"},
    {"tutti batch --each-line 'gzip {}' files.txt", "a command for every file"},
    {"ls *.png | tutti batch --each-line 'convert {} -resize 50%' -", "from a pipe"},
    {"tutti batch --from-json --template 'train --lr {lr}' grid.json", "from JSON"},
    {"tutti retry --failed last", "afterwards: only the failed lines again"},
};

Result<BatchFile> read_batch(const Arguments& arguments) {
  auto text = read_text(arguments.words()[0], kLargestBatch);
  if (!text) return text.error();
  if (arguments.has("from-json")) {
    if (arguments.has("each-line")) {
      return invalid_input("--each-line and --from-json exclude each other");
    }
    if (arguments.has("template") && arguments.value("template").empty())
      return invalid_input("--template is empty; write a command such as 'train --lr {lr}'");
    // As a file without commands is.
    if (text->find_first_not_of(" \t\r\n") == std::string::npos) return BatchFile{};
    auto lines = lines_from_json(*text, arguments.value("template"));
    if (!lines) return lines.error();
    return BatchFile{std::move(*lines), {}};
  }
  if (arguments.has("template")) return invalid_input("--template needs --from-json");
  if (arguments.has("each-line")) return parse_each_line(*text, arguments.value("each-line"));
  return parse_batch_file(*text);
}

int print_detached(Session& session, const Arguments& arguments, std::uint64_t id,
                   std::size_t tasks) {
  if (session.json()) {
    print_json(session.screen(), json::object{{"id", id}, {"ids", json::array{id}}});
  } else if (arguments.has("quiet")) {
    session.screen().out(fmt::format("{}\n", id));
  } else {
    session.screen().out(fmt::format("Submitted job {} with {}.\n", id, counted(tasks, "task")));
  }
  return kExitOk;
}

int run(Session& session, const Arguments& arguments) {
  auto batch = read_batch(arguments);
  if (!batch) return session.refuse(batch.error());
  if (batch->lines.empty()) {
    // Nothing asked, nothing failed: scripts that generate the file rely on it.
    if (session.json()) {
      print_json(session.screen(),
                 json::object{{"id", nullptr}, {"ids", json::array()}, {"tasks", 0}});
    } else if (!arguments.has("quiet")) {
      session.screen().err("tutti batch: there is no command in it\n");
    }
    return kExitOk;
  }
  auto requests = batch_of(session, arguments, batch->lines, batch->line_numbers);
  if (!requests) return session.refuse(requests.error());
  if (arguments.has("dry-run")) return print_dry_run(session, *requests, arguments.has("quiet"));
  if (auto taken = add_snapshots(session, *requests); !taken) return session.fail(taken.error());
  auto submission = submit_jobs(session, requests->jobs);
  if (!submission) return session.fail(submission.error());
  const std::uint64_t id = submission->ids.front();
  if (arguments.has("detach")) return print_detached(session, arguments, id, batch->lines.size());
  const Watched watched = follow_batch(session, id, arguments.has("quiet"));
  if (watched.left) return watched.status;
  return watched.status == kExitOk ? kExitOk : kExitFailure;
}

}  // namespace

const Verb kBatchVerb{
    .name = "batch",
    .aliases = kNoAliases,
    .summary = "run every line of a file as a command",
    .description =
        "Runs one command for each line of FILE (- is stdin), in bash syntax; blank lines and "
        "lines "
        "that begin with # are left out. A line without shell characters is executed directly. The "
        "batch is one job with one task for each line, so that it can be shown, cancelled and "
        "retried as a whole.\n"
        "\n"
        "It shows a progress bar on a terminal, names the lines that failed, and exits with 1 if "
        "one "
        "did. Ctrl-C stops the watching, not the batch; the exit status is then 130.",
    .usage = "[OPTIONS] FILE",
    .word_choices = "<file>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
