#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "exec/keeper/codec.h"
#include "exec/keeper/messages.h"

// Any bytes are cut into frames and decoded in both directions without harm, and what is accepted
// is written again as the same bytes.

namespace {

template <typename Variant>
void expect_same_bytes(const tutti::Result<Variant>& message, const tutti::Frame& frame) {
  if (!message) return;
  std::string again;
  std::visit([&](const auto& m) { tutti::append_frame(again, m); }, *message);
  if (static_cast<std::uint8_t>(again.at(4)) != frame.type) abort();
  if (std::string_view(again).substr(5) != frame.payload) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::FrameBuffer buffer;
  buffer.append(std::string_view(reinterpret_cast<const char*>(data), size));
  for (tutti::Frame frame; buffer.next(frame) == tutti::FrameBuffer::Next::kFrame;) {
    expect_same_bytes(tutti::decode_to_keeper(frame), frame);
    expect_same_bytes(tutti::decode_from_keeper(frame), frame);
  }
  return 0;
}
