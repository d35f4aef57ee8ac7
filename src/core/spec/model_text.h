#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/model_run.h"
#include "core/model/request.h"

// What users write about models and the devices that they may run on. Parsers are strict.
namespace tutti {

inline constexpr std::uint64_t kMostParameters = 1'000'000'000'000'000;
inline constexpr std::uint64_t kMostBatch = 1'000'000'000;
inline constexpr std::uint32_t kMostDevices = 1'024;  // of a node
inline constexpr std::size_t kMostConfigurations = 16;

// "1.3B", "760M", "70000K", "1300000000"; K, M, B (or G) and T in either case.
Result<std::uint64_t> parse_parameters(std::string_view text);
// The shortest of these that is exact: "1.3B", "760M".
std::string format_parameters(std::uint64_t parameters);

// A model's name: letters, digits, '_', '-', '.'; it begins with a letter or digit.
Result<void> check_model_name(std::string_view name);
Result<std::uint64_t> parse_batch(std::string_view text);

// "bert_1.3B_128": a model run.
Result<ModelRun> parse_model_run(std::string_view text);
std::string format_model_run(const ModelRun& run);
// That its parts are what parse_model_run() would have read.
Result<void> check_model_run(const ModelRun& run);

// Whether it can be the name of a type of device: letters, digits, '-' and '.'.
bool is_type_name(std::string_view text);

// "4xA100,8xV100": one of these, on one node.
Result<std::vector<Configuration>> parse_configurations(std::string_view text);
std::string format_configurations(const std::vector<Configuration>& configurations);
// The error does not name the field.
Result<void> check_configurations(const std::vector<Configuration>& configurations);

}  // namespace tutti
