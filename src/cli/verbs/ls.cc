#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <set>

#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/render.h"
#include "cli/output/text.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/unknown_word.h"
#include "cli/verbs/verbs.h"
#include "client/http_client.h"
#include "core/spec/quantity.h"
#include "core/spec/selector.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kUnfinishedShown = 50;
constexpr std::uint32_t kFinishedShown = 10;

constexpr Option kOptions[] = {
    {"all", 'a', Kind::kFlag, {}, "all jobs, not only the unfinished and the newest ten", {}},
    {"state", 0, Kind::kValue, "STATES", "only jobs in these states, with commas",
     "queued starting running succeeded failed cancelled skipped"},
    {"user", 0, Kind::kValue, "NAME", "only this user's jobs", {}},
    {"name", 0, Kind::kValue, "NAME", "only jobs with this name", {}},
    {"limit", 'n', Kind::kValue, "N", "at most N jobs", {}},
    {"watch", 'w', Kind::kFlag, {}, "show the table again at every change, until Ctrl-C", {}},
    {"quiet", 'q', Kind::kFlag, {}, "print only ids", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr std::string_view kAliases[] = {"ps", "queue"};
constexpr Example kExamples[] = {
    {"tutti ls", "what waits and runs, and what ended lately"},
    {"tutti ls --state failed -n 20", "the last twenty failures"},
    {"tutti cancel $(tutti ls -q --state queued | paste -sd,)", "ids for other verbs"},
};
constexpr std::string_view kStates[] = {"queued", "starting",  "running", "succeeded",
                                        "failed", "cancelled", "skipped"};

// Which jobs are asked for, one page after the other.
struct Query {
  std::string states;
  std::string filters;
  std::uint64_t most = 0;  // 0: no limit
};

// Jobs of one query, as values for JSON and as views for the table.
struct Page {
  json::array values;
  bool more = false;
};

Result<Page> fetch(Client& client, const Query& query) {
  Page page;
  std::string before;
  while (true) {
    const std::uint64_t left = query.most == 0 ? 1000 : query.most - page.values.size();
    const std::string states = query.states.empty() ? "" : "&state=" + query.states;
    auto answer =
        client.request("GET",
                       fmt::format("/v1/jobs?limit={}{}{}{}", std::min<std::uint64_t>(left, 1000),
                                   states, query.filters, before),
                       {});
    if (!answer) return answer.error();
    auto* jobs = answer->as_object().if_contains("jobs");
    if (jobs != nullptr && jobs->is_array()) {
      for (json::value& job : jobs->as_array()) page.values.push_back(std::move(job));
    }
    const auto next = integer_at(*answer, "next_before");
    page.more = next.has_value();
    if (!next || (query.most > 0 && page.values.size() >= query.most)) return page;
    before = fmt::format("&before={}", *next);
  }
}

Result<std::string> checked_states(const std::string& text) {
  std::string out;
  for (const std::string_view state : split_commas(text)) {
    if (std::find(std::begin(kStates), std::end(kStates), state) == std::end(kStates)) {
      return unknown_word("state", state, kStates);
    }
    out += (out.empty() ? "" : ",") + std::string(state);
  }
  return out;
}

// The default: what is unfinished, then the newest finished ones.
Result<Page> fetch_default(Client& client, const std::string& filters) {
  auto page = fetch(client, {std::string(kUnfinishedStates), filters, kUnfinishedShown});
  if (!page) return page;
  auto finished = fetch(client, {std::string(kFinishedStates), filters, kFinishedShown});
  if (!finished) return finished;
  // What ended between the two requests is in both: the second tells how it is now.
  std::set<std::int64_t> ended;
  for (const json::value& job : finished->values) ended.insert(integer_at(job, "id").value_or(0));
  auto& values = page->values;
  values.erase(std::remove_if(values.begin(), values.end(),
                              [&](const json::value& job) {
                                return ended.contains(integer_at(job, "id").value_or(0));
                              }),
               values.end());
  for (json::value& job : finished->values) page->values.push_back(std::move(job));
  return page;
}

// Jobs by their numbers: one that is not there is an error, as for other verbs, but of several
// those are shown that are.
Result<Page> fetch_named(Client& client, const Query& query, const Chosen& chosen) {
  auto page = fetch(client, query);
  if (!page || !page->values.empty()) return page;
  auto any = client.request("GET", fmt::format("/v1/jobs/{}", chosen.jobs[0].id), {});
  if (!any) return any.error();
  return page;
}

Result<Page> fetch_asked(Client& client, const Arguments& arguments) {
  std::string filters;
  for (const char* name : {"user", "name"}) {
    if (!arguments.has(name)) continue;
    filters += fmt::format("&{}={}", name, query_escape(arguments.value(name)));
  }
  auto states = arguments.has("state") ? checked_states(arguments.value("state")) : std::string();
  if (!states) return states.error();
  std::uint64_t most = 0;
  if (arguments.has("limit")) {
    auto limit = parse_count("limit", arguments.value("limit"), 1, UINT32_MAX);
    if (!limit) return limit.error();
    most = *limit;
  }
  if (!arguments.words().empty()) {
    auto chosen = choose(client, arguments.words()[0]);
    if (!chosen) return chosen.error();
    std::string ids;
    for (const ChosenJob& job : chosen->jobs) {
      if (!job.labels.empty())
        return invalid_input(fmt::format("ls lists whole jobs; see 'tutti show {}.{}' for a task",
                                         job.id, job.labels[0]));
      ids += (ids.empty() ? "" : ",") + std::to_string(job.id);
    }
    if (!chosen->all) return fetch_named(client, {*states, filters + "&ids=" + ids, most}, *chosen);
  }
  const bool narrowed = arguments.has("all") || !states->empty() || !arguments.words().empty();
  if (!narrowed && most == 0) return fetch_default(client, filters);
  return fetch(client, {*states, filters, most});
}

std::string summary(const std::vector<JobView>& jobs, bool more) {
  std::uint64_t running = 0;
  std::uint64_t queued = 0;
  for (const JobView& job : jobs) {
    if (job.state == "queued") ++queued;
    if (job.state == "running" || job.state == "starting") ++running;
  }
  return fmt::format("{}: {} running, {} queued{}", counted(jobs.size(), "job"), running, queued,
                     more ? "; there are more, see --limit and --all" : "");
}

std::vector<JobView> views_of(const Page& page) {
  std::vector<JobView> jobs;
  for (const json::value& value : page.values) jobs.push_back(job_view(value));
  return jobs;
}

// `most` rows of it; the summary counts all.
std::string table_of(Session& session, const Page& page, std::size_t most = SIZE_MAX) {
  std::vector<JobView> jobs = views_of(page);
  if (jobs.empty()) return "No jobs.\n";
  const Screen& screen = session.screen();
  std::string last = summary(jobs, page.more);
  if (jobs.size() > most) {
    last = fmt::format("... and {} more; ", jobs.size() - most) + last;
    jobs.resize(most);
  }
  if (screen.width() > 0) last = cut_to(last, static_cast<std::size_t>(screen.width()));
  return render_jobs(jobs, screen, session.now()) + screen.styled(Style::kDim, last) + "\n";
}

// How many jobs fit on the screen with the titles, the summary and the line of the cursor.
std::size_t rows_of(const Screen& screen) {
  constexpr int kOther = 3;
  if (screen.height() <= 0) return SIZE_MAX;
  return static_cast<std::size_t>(std::max(1, screen.height() - kOther));
}

// Draws the table again when something changed, but not more often than an eye can follow. A daemon
// that goes away is waited for, but not started: who stopped it did so on purpose.
class Watch : public StreamListener {
 public:
  Watch(Session& session, const Arguments& arguments) : session_(session), arguments_(arguments) {}

  int run() {
    Next drawn = draw();
    const bool begun = drawn == Next::kGoOn;
    for (int tries = 0; drawn == Next::kGoOn || (begun && is_away() && tries < kTries); ++tries) {
      if (drawn == Next::kGoOn) {
        tries = 0;
        // How it ended does not matter: the next drawing tells what is wrong.
        static_cast<void>(session_.client().stream("/v1/events", *this));
      }
      if (stopped_ || interrupted_in(kPauseMs)) return kExitOk;
      session_.drop_client();
      session_.running_client();
      drawn = draw();
    }
    return session_.refuse(*failure_);
  }

  Next on_event(const ServerEvent&) override {
    changed_ = true;
    return session_.now() - drawn_at_ < milliseconds(kPauseMs) ? Next::kGoOn : draw();
  }
  Next on_wake() override {
    stopped_ = interrupt_.take() != 0;
    if (stopped_) return Next::kStop;
    const bool old = session_.now() - drawn_at_ > seconds(10);  // the ages in it move on
    return changed_ || old ? draw() : Next::kGoOn;
  }
  int wake_fd() const override { return interrupt_.fd(); }
  int wake_after_ms() const override { return changed_ ? kPauseMs : 10'000; }

 private:
  static constexpr int kPauseMs = 500;
  static constexpr int kTries = 120;

  bool is_away() const { return failure_ && failure_->code == ErrorCode::kUnavailable; }

  bool interrupted_in(int ms) {
    pollfd wake{interrupt_.fd(), POLLIN, 0};
    ::poll(&wake, 1, ms);
    return interrupt_.take() != 0;
  }

  Next draw() {
    changed_ = false;
    failure_.reset();
    drawn_at_ = session_.now();
    auto page = fetch_asked(session_.client(), arguments_);
    if (!page) {
      failure_ = page.error();
      return Next::kStop;
    }
    session_.screen().out("\033[H\033[2J" + table_of(session_, *page, rows_of(session_.screen())));
    return Next::kGoOn;
  }

  Session& session_;
  const Arguments& arguments_;
  Interrupt interrupt_;
  TimePoint drawn_at_;
  bool changed_ = false;
  bool stopped_ = false;
  std::optional<Error> failure_;
};

int run(Session& session, const Arguments& arguments) {
  Screen& screen = session.screen();
  if (arguments.has("watch")) {
    if (!screen.out_is_terminal() || session.json()) {
      return session.usage_error("--watch needs a terminal");
    }
    return Watch(session, arguments).run();
  }
  auto page = fetch_asked(session.client(), arguments);
  if (!page) return session.refuse(page.error());
  if (session.json()) {
    print_json(screen, json::object{{"jobs", std::move(page->values)}, {"more", page->more}});
  } else if (arguments.has("quiet")) {
    for (const JobView& job : views_of(*page)) screen.out(fmt::format("{}\n", job.id));
  } else {
    screen.out(table_of(session, *page));
  }
  return kExitOk;
}

}  // namespace

const Verb kLsVerb{
    .name = "ls",
    .aliases = kAliases,
    .summary = "list jobs",
    .description =
        "Lists jobs, the newest first: by default all that are unfinished (at most "
        "50) and the ten that ended last. AGE is the time since submission, TIME how "
        "long it ran.",
    .usage = "[OPTIONS] [JOBS]",
    .word_choices = "<job>",
    .tail = Tail::kWords,
    .least_words = 0,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
