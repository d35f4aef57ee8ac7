#include "client/gpu_views.h"

#include <algorithm>
#include <boost/json.hpp>

#include "client/answer_fields.h"

namespace tutti {
namespace {

namespace json = boost::json;

// Longer than any run, and far from what an integer of microseconds cannot hold.
constexpr double kLongestSeconds = 1e11;

Duration duration_at(const json::value& value, std::string_view key) {
  const double seconds = std::clamp(real_at(value, key), 0.0, kLongestSeconds);
  return Duration(static_cast<std::int64_t>(seconds * 1e6));
}

GpuHolderView holder_view(const json::value& value) {
  return {.job = count_at(value, "job"),
          .task = number_at(value, "task"),
          .lease = count_at(value, "lease"),
          .user = text_at(value, "user"),
          .measuring = truth_at(value, "measuring")};
}

GpuView gpu_view(const json::value& value) {
  GpuView gpu;
  gpu.index = number_at(value, "index");
  gpu.node = text_at(value, "node");
  gpu.name = text_at(value, "name");
  gpu.type = text_at(value, "type");
  gpu.memory_mib = number_at(value, "memory_mib");
  gpu.used_mib = number_at(value, "used_mib");
  gpu.reserved_mib = number_at(value, "reserved_mib");
  gpu.utilization = real_at(value, "utilization");
  gpu.emulated = truth_at(value, "emulated");
  gpu.healthy = truth_at(value, "healthy", true);
  gpu.reason = text_at(value, "reason");
  for (const char* key : {"attempts", "leases"}) {
    const auto* holders = array_at(value, key);
    if (holders == nullptr) continue;
    for (const auto& holder : *holders) gpu.holders.push_back(holder_view(holder));
  }
  if (const auto* foreign = array_at(value, "foreign")) {
    for (const auto& process : *foreign) {
      gpu.foreign.push_back(
          {number_at(process, "pid"), text_at(process, "user"), text_at(process, "command")});
    }
  }
  return gpu;
}

}  // namespace

GpusView gpus_view(const json::value& answer) {
  GpusView view;
  view.source = text_at(answer, "source");
  view.trouble = text_at(answer, "trouble");
  view.notes = texts_at(answer, "notes");
  if (const auto* gpus = array_at(answer, "gpus")) {
    for (const auto& gpu : *gpus) view.gpus.push_back(gpu_view(gpu));
  }
  return view;
}

ProfileView profile_view(const json::value& value) {
  ProfileView profile;
  profile.kind = text_at(value, "kind");
  profile.samples = count_at(value, "samples");
  profile.p50 = duration_at(value, "seconds_p50");
  profile.p90 = duration_at(value, "seconds_p90");
  profile.peak_memory_mib = number_at(value, "peak_memory_mib");
  const auto* gpus = array_at(value, "gpus");
  if (gpus == nullptr) return profile;
  for (const auto& gpu : *gpus) {
    profile.gpus.push_back(
        {.type = text_at(gpu, "type"),
         .samples = count_at(gpu, "samples"),
         .peak_mib = number_at(gpu, "peak_mib"),
         .need_mib = number_at(gpu, "need_mib"),
         .utilization = real_at(gpu, "utilization"),
         .preallocates = truth_at(gpu, "preallocates", truth_at(value, "preallocates"))});
  }
  return profile;
}

std::vector<ProfileView> profile_views(const json::value& answer) {
  std::vector<ProfileView> profiles;
  const auto* found = array_at(answer, "profiles");
  if (found == nullptr) return profiles;
  for (const auto& profile : *found) profiles.push_back(profile_view(profile));
  return profiles;
}

}  // namespace tutti
