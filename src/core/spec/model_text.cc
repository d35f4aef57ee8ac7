#include "core/spec/model_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/spec/text.h"

namespace tutti {
namespace {

struct Unit {
  char letter;
  std::uint64_t factor;
};
constexpr std::array<Unit, 4> kUnits = {
    {{'T', 1'000'000'000'000}, {'B', 1'000'000'000}, {'M', 1'000'000}, {'K', 1'000}}};

Error bad_parameters(std::string_view text) {
  return invalid_input(shown(text) + " is no number of parameters; such as 1.3B, 760M or 70T");
}

std::uint64_t factor_of(char letter) {
  const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  for (const Unit& unit : kUnits)
    if (unit.letter == upper || (unit.letter == 'B' && upper == 'G')) return unit.factor;
  return 0;
}

bool is_name_character(unsigned char c) {
  return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
}

Result<Configuration> parse_configuration(std::string_view text) {
  const std::size_t mark = std::min(text.find('x'), text.size());
  const auto count = parse_digits(text.substr(0, mark), kMostDevices);
  const std::string_view type = text.substr(std::min(mark + 1, text.size()));
  if (!count || *count == 0 || !is_type_name(type))
    return invalid_input(shown(text) + " is no configuration; such as 4xA100");
  // As `plan` writes a cell of several nodes; no type begins like that.
  if (const std::size_t second = type.find('x');
      second != type.npos && parse_digits(type.substr(0, second), kMostDevices))
    return invalid_input(shown(text) +
                         " is on several nodes, but a configuration is on one, such as " +
                         std::string(type) + "; for several nodes, give workers");
  return Configuration{std::string(type), static_cast<std::uint32_t>(*count)};
}

}  // namespace

Result<std::uint64_t> parse_parameters(std::string_view text) {
  if (text.empty() || text.size() > 32) return bad_parameters(text);
  std::uint64_t factor = factor_of(text.back());
  const std::string_view digits = factor > 0 ? text.substr(0, text.size() - 1) : text;
  if (factor == 0) factor = 1;
  const std::size_t dot = std::min(digits.find('.'), digits.size());
  const auto whole = parse_digits(digits.substr(0, dot), kMostParameters / factor);
  if (!whole) return bad_parameters(text);
  std::uint64_t parameters = *whole * factor;
  if (dot < digits.size()) {
    const std::string_view decimals = digits.substr(dot + 1);
    if (!parse_digits(decimals, kMostParameters)) return bad_parameters(text);
    for (const char c : decimals) {
      if (factor % 10 != 0) return bad_parameters(text);
      factor /= 10;
      parameters += static_cast<std::uint64_t>(c - '0') * factor;
    }
  }
  if (parameters == 0 || parameters > kMostParameters) return bad_parameters(text);
  return parameters;
}

std::string format_parameters(std::uint64_t parameters) {
  for (const Unit& unit : kUnits) {
    if (parameters < unit.factor) continue;
    std::string text = std::to_string(parameters / unit.factor);
    if (std::uint64_t rest = parameters % unit.factor; rest > 0) {
      std::string decimals = std::to_string(unit.factor + rest).substr(1);
      text += "." + decimals.substr(0, decimals.find_last_not_of('0') + 1);
    }
    return text + unit.letter;
  }
  return std::to_string(parameters);
}

Result<void> check_model_name(std::string_view name) {
  const bool fine = !name.empty() && name.size() <= 100 &&
                    std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
                    std::all_of(name.begin(), name.end(), is_name_character);
  if (fine) return {};
  return invalid_input(shown(name) +
                       " is no name of a model: letters, digits, '_', '-' and '.', at most 100");
}

Result<std::uint64_t> parse_batch(std::string_view text) {
  const auto batch = parse_digits(text, kMostBatch);
  if (batch && *batch > 0) return *batch;
  return invalid_input("a batch must be a whole number from 1 to " + std::to_string(kMostBatch) +
                       ", not " + shown(text));
}

Result<ModelRun> parse_model_run(std::string_view text) {
  const std::size_t second = text.rfind('_');
  const std::size_t first =
      second == text.npos || second == 0 ? text.npos : text.rfind('_', second - 1);
  if (first == text.npos)
    return invalid_input(shown(text) + " is not MODEL_SIZE_BATCH, such as bert_1.3B_128");
  const std::string_view name = text.substr(0, first);
  if (const auto named = check_model_name(name); !named) return named.error();
  const auto parameters = parse_parameters(text.substr(first + 1, second - first - 1));
  if (!parameters) return parameters.error();
  const auto batch = parse_batch(text.substr(second + 1));
  if (!batch) return batch.error();
  return ModelRun{std::string(name), *parameters, *batch};
}

std::string format_model_run(const ModelRun& run) {
  return run.name + "_" + format_parameters(run.parameters) + "_" + std::to_string(run.batch);
}

Result<void> check_model_run(const ModelRun& run) {
  if (const auto named = check_model_name(run.name); !named) return named;
  if (run.parameters == 0 || run.parameters > kMostParameters)
    return invalid_input("model: params must be a number of parameters, such as 1.3B");
  if (run.batch == 0 || run.batch > kMostBatch)
    return invalid_input("model: batch must be the samples of an iteration, such as 256");
  return {};
}

bool is_type_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return is_name_character(c) && c != '_'; });
}

Result<std::vector<Configuration>> parse_configurations(std::string_view text) {
  std::vector<Configuration> configurations;
  for (const std::string_view part : split_commas(text)) {
    auto configuration = parse_configuration(part);
    if (!configuration) return configuration.error();
    configurations.push_back(*std::move(configuration));
  }
  if (const auto checked = check_configurations(configurations); !checked) return checked.error();
  return configurations;
}

std::string format_configurations(const std::vector<Configuration>& configurations) {
  std::string text;
  for (const Configuration& one : configurations)
    text += (text.empty() ? "" : ",") + std::to_string(one.count) + "x" + one.type;
  return text;
}

Result<void> check_configurations(const std::vector<Configuration>& configurations) {
  if (configurations.size() > kMostConfigurations)
    return invalid_input("at most " + std::to_string(kMostConfigurations) + " are allowed");
  for (auto one = configurations.begin(); one != configurations.end(); ++one) {
    if (one->count == 0 || one->count > kMostDevices || !is_type_name(one->type))
      return invalid_input("each is a number and a type of GPU, such as 4xA100");
    if (std::find(configurations.begin(), one, *one) != one)
      return invalid_input(format_configurations({*one}) + " stands twice");
  }
  return {};
}

}  // namespace tutti
