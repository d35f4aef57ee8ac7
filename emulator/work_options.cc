#include "emulator/work_options.h"

#include <cmath>
#include <string_view>

#include "base/nearest.h"
#include "emulator/gpu_spec.h"

namespace tutti::emulator {
namespace {

constexpr double kMaxSeconds = 1e6;

constexpr std::string_view kOptions[] = {"--mem",      "--start-mem", "--grow-after",  "--util",
                                         "--seconds",  "--gpus",      "--help",        "--children",
                                         "--prealloc", "--orphan",    "--no-slowdown", "--slowdown",
                                         "--flavour"};

// Puts a parsed value where it belongs, or hands its error on.
template <typename To, typename From>
Result<void> store(To& to, const Result<From>& value) {
  if (!value) return value.error();
  to = static_cast<To>(*value);
  return {};
}

bool set_switch(WorkOptions& options, std::string_view word) {
  if (word == "--prealloc") return options.prealloc = true;
  if (word == "--orphan") return options.orphan = true;
  if (word == "--slowdown") return options.slowdown = true;
  if (word == "--no-slowdown") return !(options.slowdown = false);
  return false;
}

Result<Flavour> parse_flavour(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kFlavourNames); ++i) {
    if (kFlavourNames[i] == text) return static_cast<Flavour>(i);
  }
  return invalid_input("--flavour '" + std::string(text) +
                       "' is none of torch, jax, tensorflow, hip" +
                       did_you_mean(text, kFlavourNames));
}

Result<void> set_value(WorkOptions& options, std::string_view word, std::string_view text) {
  if (word == "--mem") return store(options.memory, parse_bytes(word, text));
  if (word == "--start-mem") {
    options.start_memory = 0;
    return store(*options.start_memory, parse_bytes(word, text));
  }
  if (word == "--grow-after")
    return store(options.grow_after, parse_number(word, text, 0, kMaxSeconds));
  if (word == "--seconds") return store(options.seconds, parse_number(word, text, 0, kMaxSeconds));
  if (word == "--gpus") return store(options.gpus, parse_whole(word, text, 1, kMaxGpus));
  if (word == "--children") return store(options.children, parse_whole(word, text, 0, 64));
  if (word == "--flavour") return store(options.flavour, parse_flavour(text));
  double share = 0;
  auto stored = store(share, parse_number(word, text, 0, 1));
  options.percent = static_cast<int>(std::lround(share * 100));
  return stored;
}

bool takes_value(std::string_view word) {
  for (const std::string_view name : {"--mem", "--start-mem", "--grow-after", "--util", "--seconds",
                                      "--gpus", "--children", "--flavour"}) {
    if (word == name) return true;
  }
  return false;
}

}  // namespace

Result<WorkOptions> parse_work_options(Arguments arguments) {
  WorkOptions options;
  while (!arguments.empty()) {
    const std::string_view word = arguments.next();
    if (set_switch(options, word)) continue;
    if (!takes_value(word))
      return invalid_input("work has no option '" + std::string(word) + "'" +
                           did_you_mean(word, kOptions));
    const auto text = arguments.value_of(word);
    if (!text) return text.error();
    auto set = set_value(options, word, *text);
    if (!set) return set.error();
  }
  if (options.start_memory && *options.start_memory > options.memory)
    return invalid_input("--start-mem is more than --mem; memory can only grow");
  if (options.orphan && options.children == 0)
    return invalid_input("--orphan is about children; give --children N too");
  return options;
}

}  // namespace tutti::emulator
