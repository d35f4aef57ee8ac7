// Groups of nodes such as "2xA100:8": what is read has nodes, and an error is one line.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/node_group.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto groups = parse_node_groups(text);
  if (!groups) {
    TUTTI_CHECK(groups.error().message.find('\n') == std::string::npos);
    return 0;
  }
  for (const NodeGroup& group : *groups) {
    TUTTI_CHECK(group.count > 0);
    TUTTI_CHECK(group.gpus > 0 || group.cpus.value > 0);
  }
  return 0;
}
