#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/lifecycle/event.h"

namespace tutti {

// Version of the encoding of an event's body: its first byte.
inline constexpr std::uint8_t kEventVersion = 7;

// An event as a journal row holds it. `body` views bytes of somebody else.
struct EncodedEvent {
  std::int64_t at = 0;
  std::int64_t kind = 0;  // the position in EventBody, append only
  std::string_view body;
};

// Encodes into `buffer`, which is overwritten and which the result's body views. Of a node, what is
// free is left out.
EncodedEvent encode(const Event& event, std::string& buffer);

// The event, or kCorrupt for bytes that `encode` cannot have written and kUnsupported for those of
// a newer version. A node comes back with all of it free.
Result<Event> decode(const EncodedEvent& encoded);

}  // namespace tutti
