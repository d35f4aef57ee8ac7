#include "cli/job_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <optional>

#include "base/home.h"
#include "cli/copy_choice.h"
#include "cli/environment.h"
#include "cli/gang_request.h"
#include "cli/job_fields.h"
#include "cli/job_script.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "cli/read_text.h"
#include "client/snapshot.h"
#include "client/views.h"
#include "core/spec/job_file.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "wire/job_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::size_t kLargestJobFile = std::size_t{16} << 20;

json::array to_array(const std::vector<std::string>& words, std::size_t from = 0) {
  json::array array;
  array.reserve(words.size());
  for (std::size_t i = from; i < words.size(); ++i) array.push_back(text_to_json(words[i]));
  return array;
}

Result<std::string> current_folder() {
  std::error_code failure;
  const auto path = std::filesystem::current_path(failure);
  if (failure) return io_error("the current folder is gone; use --workdir", failure.value());
  return path.string();
}

// The folder of the results: absolute, and one for each task.
Result<void> complete_results(json::object& job) {
  auto* results = job.if_contains("results");
  if (results == nullptr) return {};
  std::string folder = text_at(*results, "folder");
  const bool several = job.contains("array") || job.contains("lines") || job.contains("workers");
  if (folder.empty()) folder = several ? "results/%j.%t" : "results/%j";
  if (!folder.starts_with('/')) {
    auto here = current_folder();
    if (!here) return here.error();
    // A percent sign of the folder's own name is no mark.
    std::string escaped;
    for (const char c : *here) escaped += c == '%' ? "%%" : std::string(1, c);
    folder = escaped + "/" + folder;
  }
  results->as_object()["folder"] = text_to_json(folder);
  return {};
}

// Nothing is silently left undone: these options mean something on other machines only.
Result<void> check_places(const json::object& job, bool no_copy) {
  if (job.contains("labels")) return {};
  const char* const option = job.contains("results") ? "--results"
                             : no_copy               ? "--no-copy"
                                                     : nullptr;
  if (option == nullptr) return {};
  return invalid_input(
      fmt::format("{} needs --on: without it the job runs on this machine, in the work directory "
                  "itself. Name a machine, such as --on pool, or leave it out",
                  option));
}

// Everything that comes from around the command line: work directory and environment. `settings`
// are
// --env values, the later ones winning.
Result<void> complete(json::object& job, bool clean_env, const std::vector<std::string>& settings) {
  if (!job.contains("workdir")) {
    auto folder = current_folder();
    if (!folder) return folder.error();
    job["workdir"] = text_to_json(*folder);
  }
  Environment environment = Environment::of_process(clean_env);
  for (const std::string& setting : settings) {
    if (auto applied = environment.apply(setting); !applied) return applied;
  }
  job["env"] = to_array(environment.variables());
  // Neither another machine nor a container has anything else of it, and a dry run of workers shows
  // nothing else of it.
  const bool told_apart = wants_labels(job) || job.contains("container") || job.contains("workers");
  if (told_apart && !settings.empty()) {
    Environment sent;
    for (const std::string& setting : settings) {
      if (auto applied = sent.apply(setting); !applied) return applied;
    }
    job["remote_env"] = to_array(sent.variables());
  }
  return complete_results(job);
}

CopyChoice copy_choice(const Arguments& arguments) {
  CopyChoice choice;
  choice.add(arguments);
  return choice;
}

// "last" in --after is the newest job; the API knows only numbers.
Result<void> resolve_last(Session& session, json::object& job) {
  auto* after = job.if_contains("after");
  if (after == nullptr || !after->is_array()) return {};
  for (json::value& element : after->as_array()) {
    if (!element.is_string() || !element.as_string().starts_with("last")) continue;
    const std::string text(element.as_string());
    if (text != "last" && !text.starts_with("last:")) continue;
    auto answer = session.client().request("GET", "/v1/jobs/last", {});
    if (!answer) return answer.error();
    element = std::to_string(integer_at(*answer, "id").value_or(0)) + text.substr(4);
  }
  return {};
}

Result<void> check(const json::object& job) {
  auto spec = spec_from_json(job);
  if (!spec) return spec.error();
  fill_defaults(*spec);
  return validate(*spec);
}

JobRequests single(json::object job, bool snapshot) {
  JobRequests requests;
  requests.jobs.push_back(std::move(job));
  requests.snapshots.push_back(snapshot);
  return requests;
}

Result<JobRequests> script_job(Session& session, const Arguments& arguments, const Script& script) {
  const std::string& path = arguments.words()[0];
  json::object job;
  CopyChoice copy = copy_choice(arguments);
  auto settings = apply_directives(script, path, job, copy);
  if (!settings) return settings.error();
  for (const std::uint32_t line : script.header.late_lines) {
    session.screen().err(
        fmt::format("tutti: {}:{}: a #TUTTI line after the first command is not read\n",
                    printable(path), line));
  }
  if (auto applied = apply_job_options(arguments, job); !applied) return applied.error();
  const auto list = arguments.list("env");
  settings->insert(settings->end(), list.begin(), list.end());
  job["script"] = text_to_json(script.text);
  job["script_name"] = text_to_json(std::filesystem::path(path).filename().string());
  if (arguments.words().size() > 1) job["args"] = to_array(arguments.words(), 1);
  if (auto done = complete(job, arguments.has("clean-env"), *settings); !done) return done.error();
  if (auto done = check_places(job, copy.no_copy); !done) return done.error();
  return single(std::move(job), copy.wanted());
}

// One word with blanks is a line for the shell, as `sh -c` takes it; several words are a program
// and its arguments.
Result<JobRequests> command_job(const Arguments& arguments) {
  json::object job;
  if (auto applied = apply_job_options(arguments, job); !applied) return applied.error();
  const auto& words = arguments.words();
  const bool shell_line =
      words.size() == 1 && words[0].find_first_of(" \t\n;|&<>$`") != std::string::npos;
  if (shell_line) {
    job["command"] = text_to_json(words[0]);
  } else {
    job["command"] = to_array(words);
  }
  if (auto done = complete(job, arguments.has("clean-env"), arguments.list("env")); !done)
    return done.error();
  if (auto done = check_places(job, arguments.has("no-copy")); !done) return done.error();
  return single(std::move(job), copy_choice(arguments).wanted());
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Result<json::object> entry_job(const Arguments& arguments, JobFileEntry entry,
                               const std::filesystem::path& folder) {
  JobSpec& spec = entry.spec;
  if (!entry.script_path.empty()) {
    auto text = read_text((folder / entry.script_path).string(), kLargestScript);
    if (!text) return text.error();
    spec.command.script = std::move(*text);
  }
  complete_paths(spec, folder);
  if (auto applied = apply_to_workers(arguments, spec); !applied) return applied.error();
  const std::vector<std::string> settings = joined(spec.env, arguments.list("env"));
  const bool clean = entry.clean_env || arguments.has("clean-env");
  const bool no_copy = entry.no_copy || arguments.has("no-copy");
  json::object job = spec_to_json(spec, true).as_object();
  if (!entry.after_last.empty()) {
    json::array after = job.contains("after") ? job.at("after").as_array() : json::array();
    for (const std::string& last : entry.after_last) after.emplace_back(last);
    job["after"] = std::move(after);
  }
  if (auto applied = apply_job_options(arguments, job); !applied) return applied.error();
  if (!spec.gang.workers.empty()) drop_worker_fields(job);
  // Elsewhere there may be a folder that this machine has not.
  if (!spec.workdir.empty() && !arguments.has("workdir") && !wants_labels(job)) {
    if (auto found = absolute_folder(spec.workdir); !found) return found.error();
  }
  if (auto done = complete(job, clean, settings); !done) return done.error();
  if (auto done = check_places(job, no_copy); !done) return done.error();
  return job;
}

// What a file says and what will not be done.
void tell(Session& session, const std::string& path, const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    session.screen().err(fmt::format("tutti: {}: {}\n", printable(path), note));
}

void drop_container(JobFileEntry& entry) {
  Container& container = entry.spec.container;
  if (container.image.empty()) return;
  entry.notes.push_back(
      fmt::format("without a container: the commands run as processes, and image {} is not used",
                  shown(container.image)));
  container = {};
}

// What the command line says is no fault of the file.
void drop_overruled(const Arguments& arguments, JobPlace& place) {
  std::erase_if(place.fields, [&](const auto& field) {
    std::string option = field.first;
    std::replace(option.begin(), option.end(), '_', '-');
    return arguments.has(option);
  });
}

Error at_place(const std::string& file, const JobPlace& place, const Error& error) {
  return {error.code, fmt::format("{}:{}: {}", file, place.line_of(error.message), error.message)};
}

Result<JobRequests> file_jobs(Session& session, const Arguments& arguments) {
  const std::string& path = arguments.words()[0];
  if (arguments.words().size() > 1) {
    return invalid_input("a job file takes no further words: " + shown(arguments.words()[1]));
  }
  auto text = read_text(path, kLargestJobFile);
  if (!text) return text.error();
  auto entries = parse_job_file(*text, path);
  if (!entries) return entries.error();
  const auto folder = std::filesystem::absolute(path).parent_path();
  JobRequests requests;
  requests.file = path;
  for (JobFileEntry& entry : *entries) {
    const CopyChoice copy = copy_choice(arguments);
    const bool snapshot = (entry.snapshot && !copy.no_copy) || copy.wanted();
    JobPlace place = std::move(entry.place);
    drop_overruled(arguments, place);
    if (arguments.has("no-container")) drop_container(entry);
    tell(session, path, entry.notes);
    auto job = entry_job(arguments, std::move(entry), folder);
    if (!job) {
      return at_place(path, place, job.error());
    }
    requests.jobs.push_back(std::move(*job));
    requests.snapshots.push_back(snapshot);
    requests.places.push_back(std::move(place));
  }
  return requests;
}

Result<JobRequests> unchecked_jobs(Session& session, const Arguments& arguments) {
  const std::string& first = arguments.words()[0];
  const bool yaml = first.ends_with(".yaml") || first.ends_with(".yml");
  if (yaml && !arguments.after_dashes()) return file_jobs(session, arguments);
  std::optional<Script> script;
  if (!arguments.after_dashes()) {
    auto found = script_at(first);
    if (!found) return found.error();
    script = std::move(*found);
  }
  if (script) return script_job(session, arguments, *script);
  return command_job(arguments);
}

}  // namespace

std::uint64_t ranks_in(const json::value& job) {
  std::uint64_t ranks = 0;
  const json::value* workers = job.as_object().if_contains("workers");
  if (workers == nullptr) return ranks;
  for (const json::value& group : workers->as_array()) {
    const json::value* count = group.as_object().if_contains("count");
    ranks += count != nullptr ? count->to_number<std::uint64_t>() : 1;
  }
  return ranks;
}

bool has_many_tasks(const json::value& job) {
  const auto spec = spec_from_json(job);
  return spec && spec->tasks.count > 1 && spec->tasks.shape != TaskSet::Shape::kGang;
}

std::string digest_file() {
  const auto home = home_folder();
  return home ? *home + "/digests" : "";
}

Error fault_in(const JobRequests& requests, const Error& error) {
  // Others are no fault of the file, such as a daemon that cannot be reached.
  if (requests.file.empty() || error.code != ErrorCode::kInvalidInput) return error;
  return invalid_input(requests.file + ": " + error.message);
}

Result<JobRequests> jobs_of(Session& session, const Arguments& arguments) {
  auto requests = unchecked_jobs(session, arguments);
  if (!requests) return requests;
  for (std::size_t i = 0; i < requests->jobs.size(); ++i) {
    json::object& job = requests->jobs[i].as_object();
    if (auto resolved = resolve_last(session, job); !resolved) return resolved.error();
    const auto checked = check(job);
    if (checked) continue;
    if (requests->places.empty()) return checked.error();
    return at_place(requests->file, requests->places[i], checked.error());
  }
  return requests;
}

Result<JobRequests> batch_of(Session& session, const Arguments& arguments,
                             const std::vector<std::string>& lines,
                             const std::vector<std::uint32_t>& line_numbers) {
  json::object job;
  if (auto applied = apply_job_options(arguments, job); !applied) return applied.error();
  // Two lines are enough to check the options; the daemon checks all of them.
  job["lines"] = to_array({lines.begin(), lines.begin() + (lines.size() > 1 ? 2 : 1)});
  if (auto done = complete(job, arguments.has("clean-env"), arguments.list("env")); !done)
    return done.error();
  if (auto done = check_places(job, arguments.has("no-copy")); !done) return done.error();
  if (auto resolved = resolve_last(session, job); !resolved) return resolved.error();
  if (auto checked = check(job); !checked) return checked.error();
  job["lines"] = to_array(lines);
  if (!line_numbers.empty()) {
    json::array numbers;
    numbers.reserve(line_numbers.size());
    for (const std::uint32_t number : line_numbers) numbers.push_back(number);
    job["line_numbers"] = std::move(numbers);
  }
  return single(std::move(job), copy_choice(arguments).wanted());
}

Result<void> add_snapshots(Session& session, JobRequests& requests) {
  ProgressBar bar(session.screen());
  for (std::size_t i = 0; i < requests.jobs.size(); ++i) {
    if (!requests.snapshots[i]) continue;
    const std::string folder = text_at(requests.jobs[i], "workdir");
    auto digest = take_snapshot(
        session.client(), folder,
        [&bar](std::size_t done, std::size_t all) {
          bar.show(fmt::format("snapshot: {} of {} files", grouped(done), grouped(all)));
        },
        {.paths = {}, .ignored = {}, .digests = digest_file()});
    if (!digest) return digest.error();
    requests.jobs[i].as_object()["snapshot"] = *digest;
  }
  return {};
}

}  // namespace tutti
