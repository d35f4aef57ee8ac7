// Manifests: whatever the text, an answer or an error with a place. Invariants: the answer does not
// depend on anything but the text; it is a gang whose tasks are its ranks, each of which claims
// memory; an error is one line that names the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/manifest.h"
#include "core/spec/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto manifest = parse_manifest(text, "f.yaml");
  if (!manifest) {
    const std::string& message = manifest.error().message;
    TUTTI_CHECK(message.starts_with("f.yaml:"));
    TUTTI_CHECK(message.find('\n') == std::string::npos);
    return 0;
  }
  TUTTI_CHECK(*parse_manifest(text, "f.yaml") == *manifest);
  JobSpec& spec = manifest->spec;
  TUTTI_CHECK(!spec.gang.workers.empty() && !spec.command.empty());
  std::uint32_t ranks = 0;
  for (const WorkerGroup& group : spec.gang.workers) {
    TUTTI_CHECK(group.ranks.count >= 1 && group.ranks.request.memory.value > 0);
    ranks += group.ranks.count;
  }
  TUTTI_CHECK(ranks == spec.tasks.count && ranks <= kMaxRanks);
  TUTTI_CHECK(spec.request == spec.gang.workers.front().ranks.request);
  fill_defaults(spec);
  TUTTI_CHECK(!spec.name.empty() && !spec.kind.empty());
  spec.workdir = "/";
  static_cast<void>(validate(spec));
  return 0;
}
