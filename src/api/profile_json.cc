#include "api/profile_json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMostMiB = std::int64_t{1} << 40;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 31;

json::object device_to_json(const DeviceProfile& device) {
  json::array peaks;
  for (const MiB peak : device.peaks) peaks.push_back(peak.value);
  return {{"type", text_to_json(device.type)},
          {"samples", device.samples},
          {"peaks_mib", std::move(peaks)},
          {"utilization", static_cast<double>(device.share.value) / 1000},
          {"floor_mib", device.floor.value},
          {"preallocates", device.preallocates},
          {"peak_mib", device.peak().value},
          {"need_mib", device.need().value}};
}

// A required number of an object.
Result<std::int64_t> number_at(const json::object& object, std::string_view name,
                               std::int64_t most) {
  const auto* value = object.if_contains(name);
  if (value == nullptr) return invalid_input(std::string(name) + " is missing");
  return integer_from_json(*value, name, 0, most);
}

Result<double> part_at(const json::object& object, std::string_view name, double most) {
  const auto* value = object.if_contains(name);
  const bool number = value != nullptr && value->is_number();
  const double part = number ? value->to_number<double>() : -1;
  if (!(part >= 0 && part <= most)) return invalid_input(std::string(name) + " is not a number");
  return part;
}

Result<const json::array*> list_at(const json::object& object, std::string_view name,
                                   std::size_t most) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_array() || value->as_array().size() > most) {
    return invalid_input(std::string(name) + " must be a list of at most " + std::to_string(most));
  }
  return &value->as_array();
}

Result<DeviceProfile> device_from_json(const json::value& value) {
  constexpr std::array<std::string_view, 8> kKeys = {"type",      "samples",      "peaks_mib",
                                                     "floor_mib", "preallocates", "utilization",
                                                     "peak_mib",  "need_mib"};
  const auto object = object_from_json(value, "a GPU of a profile", kKeys);
  if (!object) return object.error();
  DeviceProfile device;
  const auto* type = (*object)->if_contains("type");
  auto name = type != nullptr ? word_from_json(*type, "type") : invalid_input("type is missing");
  if (!name) return name.error();
  device.type = std::move(*name);
  const auto samples = number_at(**object, "samples", kMostSamples);
  if (!samples) return samples.error();
  device.samples = static_cast<std::uint32_t>(*samples);
  const auto floor = number_at(**object, "floor_mib", kMostMiB);
  if (!floor) return floor.error();
  device.floor = MiB(*floor);
  const auto share = part_at(**object, "utilization", 1);
  if (!share) return share.error();
  device.share = MilliGpu(std::llround(*share * 1000));
  if (const auto* flag = (*object)->if_contains("preallocates")) {
    const auto preallocates = bool_from_json(*flag, "preallocates");
    if (!preallocates) return preallocates.error();
    device.preallocates = *preallocates;
  }
  const auto peaks = list_at(**object, "peaks_mib", DeviceProfile::kRecent);
  if (!peaks) return peaks.error();
  for (const json::value& one : **peaks) {
    const auto peak = integer_from_json(one, "peaks_mib", 0, kMostMiB);
    if (!peak) return peak.error();
    device.peaks.emplace_back(*peak);
  }
  if (device.samples > 0 && device.peaks.empty()) {
    return invalid_input("peaks_mib is empty, but samples is not 0");
  }
  return device;
}

Result<void> read_durations(const json::object& object, Profile::Content& content) {
  const auto durations = list_at(object, "durations", Profile::kBuckets);
  if (!durations) return durations.error();
  for (const json::value& one : **durations) {
    const bool pair = one.is_array() && one.as_array().size() == 2;
    if (!pair) return invalid_input("durations: must be pairs of a step and a count");
    const auto step = integer_from_json(one.as_array()[0], "durations", 0, Profile::kBuckets - 1);
    if (!step) return step.error();
    const auto count = integer_from_json(one.as_array()[1], "durations", 0, kMostSamples);
    if (!count) return count.error();
    content.buckets[static_cast<std::size_t>(*step)] = static_cast<std::uint32_t>(*count);
    content.samples += static_cast<std::uint64_t>(*count);
  }
  return {};
}

json::object device_time_to_json(const DeviceTime& time) {
  return {{"type", text_to_json(time.type)},
          {"gpus", time.count},
          {"samples", time.samples},
          {"seconds_mean", seconds_to_json(time.mean)}};
}

Result<DeviceTime> device_time_from_json(const json::value& value) {
  constexpr std::array<std::string_view, 4> kKeys = {"type", "gpus", "samples", "seconds_mean"};
  const auto object = object_from_json(value, "a time of a profile", kKeys);
  if (!object) return object.error();
  DeviceTime time;
  const auto* type = (*object)->if_contains("type");
  auto name = type != nullptr ? word_from_json(*type, "type") : invalid_input("type is missing");
  if (!name) return name.error();
  time.type = std::move(*name);
  const auto count = number_at(**object, "gpus", 4096);
  if (!count) return count.error();
  time.count = static_cast<std::uint32_t>(*count);
  const auto samples = number_at(**object, "samples", kMostSamples);
  if (!samples) return samples.error();
  time.samples = static_cast<std::uint32_t>(*samples);
  const auto mean = part_at(**object, "seconds_mean", 1e9);
  if (!mean) return mean.error();
  time.mean = Duration(std::llround(*mean * 1e6));
  return time;
}

Result<std::pair<std::string, Profile>> profile_from_json(const json::value& value) {
  constexpr std::array<std::string_view, 9> kKeys = {
      "kind", "samples",   "seconds_p50",     "seconds_p90", "seconds_mean",
      "gpus", "durations", "peak_memory_mib", "times"};
  const auto object = object_from_json(value, "a profile", kKeys);
  if (!object) return object.error();
  const auto* given = (*object)->if_contains("kind");
  auto kind = given != nullptr ? word_from_json(*given, "kind") : invalid_input("kind is missing");
  if (!kind) return kind.error();
  if (kind->empty() || kind->size() > 256) return invalid_input("kind must have 1 to 256 bytes");
  Profile::Content content;
  if (const auto read = read_durations(**object, content); !read) return read.error();
  const auto mean = part_at(**object, "seconds_mean", 1e9);
  if (!mean) return mean.error();
  content.recent_mean = Duration(std::llround(*mean * 1e6));
  const auto memory = number_at(**object, "peak_memory_mib", kMostMiB);
  if (!memory) return memory.error();
  content.peak_memory = MiB(*memory);
  const auto gpus = list_at(**object, "gpus", 64);
  if (!gpus) return gpus.error();
  for (const json::value& one : **gpus) {
    auto device = device_from_json(one);
    if (!device) return device.error();
    content.devices.push_back(std::move(*device));
  }
  if ((*object)->contains("times")) {
    const auto times = list_at(**object, "times", Profile::kMostTimes);
    if (!times) return times.error();
    for (const json::value& one : **times) {
      auto time = device_time_from_json(one);
      if (!time) return time.error();
      content.times.push_back(std::move(*time));
    }
  }
  return std::pair(std::move(*kind), Profile::of(content));
}

}  // namespace

json::object profile_to_json(const std::string& kind, const Profile& profile) {
  const Profile::Content content = profile.content();
  json::array gpus;
  for (const DeviceProfile& device : content.devices) gpus.push_back(device_to_json(device));
  json::array times;
  for (const DeviceTime& time : content.times) times.push_back(device_time_to_json(time));
  json::array durations;
  for (std::size_t i = 0; i < content.buckets.size(); ++i) {
    if (content.buckets[i] != 0) durations.push_back(json::array{i, content.buckets[i]});
  }
  return {{"kind", text_to_json(kind)},
          {"samples", content.samples},
          {"seconds_p50", seconds_to_json(profile.quantile(0.5))},
          {"seconds_p90", seconds_to_json(profile.quantile(0.9))},
          {"seconds_mean", seconds_to_json(content.recent_mean)},
          {"peak_memory_mib", content.peak_memory.value},
          {"gpus", std::move(gpus)},
          {"durations", std::move(durations)},
          {"times", std::move(times)}};
}

Result<std::vector<std::pair<std::string, std::optional<Profile>>>> profiles_from_json(
    std::string_view body) {
  constexpr std::array<std::string_view, 2> kKeys = {"version", "profiles"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "an export of profiles", kKeys);
  if (!object) return object.error();
  const auto* version = (*object)->if_contains("version");
  if (version == nullptr || *version != 1) {
    return invalid_input("version must be 1: this is not an export of profiles that is known here");
  }
  const auto list = list_at(**object, "profiles", 100'000);
  if (!list) return list.error();
  std::vector<std::pair<std::string, std::optional<Profile>>> profiles;
  for (std::size_t i = 0; i < (*list)->size(); ++i) {
    auto one = profile_from_json((**list)[i]);
    if (!one) {
      return Error{one.error().code,
                   "profile " + std::to_string(i + 1) + ": " + one.error().message};
    }
    profiles.emplace_back(std::move(one->first), std::move(one->second));
  }
  return profiles;
}

}  // namespace tutti
