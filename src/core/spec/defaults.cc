#include <algorithm>
#include <array>
#include <string_view>

#include "core/spec/command_line.h"
#include "core/spec/rank_programs.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

// Enough of a long line to find its program.
constexpr std::size_t kLookAhead = 4096;

constexpr std::array<std::string_view, 10> kWrappers = {
    "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time"};
constexpr std::array<std::string_view, 14> kInterpreters = {
    "Rscript", "accelerate", "bash", "dash", "deepspeed", "ipython",  "julia",
    "node",    "perl",       "pypy", "ruby", "sh",        "torchrun", "zsh"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.empty() ? path : name;
}

// python, python3, python3.11
bool is_interpreter(std::string_view program) {
  if (contains(kInterpreters, program)) return true;
  if (!program.starts_with("python")) return false;
  program.remove_prefix(6);
  return program.find_first_not_of("0123456789.") == program.npos;
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != word.npos && equals > 0 && word.find('/') > equals && word[0] != '-';
}

std::string sanitised(std::string_view text) {
  std::string name(text.substr(0, kMaxNameBytes));
  // A cut may have split the last character.
  while (const auto bad = first_invalid_utf8(name)) {
    const bool cut = text.size() > kMaxNameBytes && *bad + 4 > name.size();
    if (cut) {
      name.resize(*bad);
    } else {
      name[*bad] = '_';
    }
  }
  while (const auto bad = first_control_character(name)) name[*bad] = '_';
  return name;
}

// The words of a shell line as far as they matter here: until something ends the first command.
std::vector<std::string> leading_words(std::string_view line) {
  line = line.substr(0, kLookAhead);
  const auto parsed = split_words(line.substr(0, line.find_first_of(";|&<>()\n")));
  if (parsed) return *parsed;
  std::vector<std::string> words;
  for (std::string_view rest = trimmed(line); !rest.empty(); rest = trimmed(rest)) {
    const std::size_t end = std::min(rest.find_first_of(" \t\n"), rest.size());
    if (end == 0) break;
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return words;
}

std::vector<std::string> words_of(const JobSpec& spec) {
  if (!spec.lines.empty()) return leading_words(spec.lines.front());
  if (!spec.command.argv.empty()) return spec.command.argv;
  return leading_words(spec.command.shell);
}

// The script or module among an interpreter's arguments, or the interpreter itself.
std::string_view interpreted(const std::vector<std::string>& words, std::size_t interpreter) {
  const std::string_view program = file_name(words[interpreter]);
  for (std::size_t i = interpreter + 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) return words[i + 1];
    if (words[i] == "-c" || words[i] == "-e") return program;
    if (program == "accelerate" && words[i] == "launch") continue;
    if (!words[i].empty() && words[i][0] != '-') return file_name(words[i]);
  }
  return program;
}

std::string_view kind_of(const std::vector<std::string>& words) {
  bool after_wrapper = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view program = file_name(words[i]);
    if (is_assignment(words[i])) continue;
    if (after_wrapper && words[i].starts_with('-')) {
      // "nice -n 5": the number belongs to the option.
      const bool numbered = i + 1 < words.size() && !words[i + 1].empty() &&
                            words[i + 1].find_first_not_of("0123456789-") == std::string::npos;
      if (numbered) ++i;
      continue;
    }
    if (contains(kWrappers, program)) {
      after_wrapper = true;
      continue;
    }
    return is_interpreter(program) ? interpreted(words, i) : program;
  }
  return words.empty() ? std::string_view() : file_name(words.front());
}

std::string_view or_else(std::string_view text, std::string_view otherwise) {
  return text.empty() ? otherwise : text;
}

void complete(Request& request) {
  DeviceRequest& devices = request.devices;
  if (devices.count == 0 && devices != DeviceRequest()) devices.count = 1;
  std::vector<std::string>& labels = request.labels;
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
}

// Ray listens on so many, whatever else is asked for.
void fill_ray_ports(std::vector<WorkerGroup>& workers) {
  for (WorkerGroup& group : workers) {
    const bool head = &group == &workers.front();
    std::uint32_t& ports = group.ranks.request.ports;
    ports = std::max(ports, head ? kRayHeadPorts : kRayNodePorts);
  }
}

}  // namespace

void fill_gang(JobSpec& spec) {
  if (spec.gang.workers.empty()) return;
  if (spec.gang.framework == Framework::kRay) fill_ray_ports(spec.gang.workers);
  std::uint64_t ranks = 0;
  bool all_have_commands = true;
  for (WorkerGroup& group : spec.gang.workers) {
    complete(group.ranks.request);
    DeviceRequest& devices = group.ranks.request.devices;
    if (devices.unknown()) devices.sharing = Sharing::kNever;
    if (group.ranks.parallel >= group.ranks.count) group.ranks.parallel = 0;
    ranks += group.ranks.count;
    all_have_commands = all_have_commands && !group.command.empty();
  }
  const WorkerGroup& first = spec.gang.workers.front();
  spec.request = first.ranks.request;
  if (all_have_commands && spec.command.empty()) spec.command = first.command;
  // An array or a batch with workers stays one, for validate() to refuse.
  if (spec.tasks.shape == TaskSet::Shape::kArray || !spec.lines.empty()) return;
  spec.tasks.shape = TaskSet::Shape::kGang;
  spec.tasks.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(ranks, UINT32_MAX));
  spec.tasks.first = 0;
  spec.tasks.step = 1;
}

void fill_defaults(JobSpec& spec) {
  fill_gang(spec);
  // An array with lines stays one, for validate() to refuse.
  if (!spec.lines.empty() && spec.tasks.shape != TaskSet::Shape::kArray) {
    spec.tasks.shape = TaskSet::Shape::kBatch;
    spec.tasks.count = static_cast<std::uint32_t>(spec.lines.size());
    spec.tasks.first = 1;
    spec.tasks.step = 1;
  }
  complete(spec.request);
  // Speeds hold for GPUs that nobody else uses; then nothing has to be measured first either.
  const bool has_speeds = !spec.request.configurations.empty() || !spec.model.name.empty();
  if (has_speeds && spec.request.devices.unknown()) spec.request.devices.sharing = Sharing::kNever;
  if (!spec.name.empty() && !spec.kind.empty()) return;

  const std::vector<std::string> words = words_of(spec);
  const bool is_script = !spec.command.script.empty();
  const std::string_view first = words.empty() ? std::string_view() : file_name(words.front());
  const std::string_view fallback = is_script ? "script" : "job";
  if (spec.name.empty()) {
    spec.name = spec.lines.empty() ? sanitised(or_else(first, fallback)) : "batch";
  }
  if (spec.kind.empty()) {
    spec.kind = sanitised(or_else(is_script ? first : kind_of(words), fallback));
  }
}

}  // namespace tutti
