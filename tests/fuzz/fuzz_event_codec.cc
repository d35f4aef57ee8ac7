// Bytes from a damaged or hostile journal: decoding never crashes, and what it accepts has exactly
// one encoding in the newest version. The first byte chooses the kind of event.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/event_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto event = tutti::decode({.at = 1, .kind = bytes[0], .body = body});
  if (!event) return 0;
  std::string again;
  const tutti::EncodedEvent encoded = tutti::encode(*event, again);
  if (static_cast<std::uint8_t>(body[0]) == tutti::kEventVersion) {
    TUTTI_CHECK(encoded.body == body);
    return 0;
  }
  // An older version is written as the newest, and means the same.
  const auto same = tutti::decode(encoded);
  TUTTI_CHECK(same && *same == *event);
  return 0;
}
