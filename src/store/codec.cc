#include "store/codec.h"

#include <limits>

namespace tutti {

std::uint8_t FieldReader::byte() {
  if (left_.empty()) {
    fail();
    return 0;
  }
  const auto value = static_cast<std::uint8_t>(left_.front());
  left_.remove_prefix(1);
  return value;
}

void FieldReader::number(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t group = byte();
    if (failed_) return;
    value |= std::uint64_t{group & 0x7Fu} << shift;
    if ((group & 0x80u) != 0) continue;
    const bool padded = shift > 0 && group == 0;
    const bool overflows = shift == 63 && group > 1;
    if (padded || overflows) break;
    return;
  }
  value = 0;
  fail();
}

void FieldReader::number(std::uint32_t& value) {
  std::uint64_t wide = 0;
  number(wide);
  if (wide > std::numeric_limits<std::uint32_t>::max()) return fail();
  value = static_cast<std::uint32_t>(wide);
}

void FieldReader::number(std::int64_t& value) {
  std::uint64_t coded = 0;
  number(coded);
  value = static_cast<std::int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
}

void FieldReader::number(std::int32_t& value) {
  std::int64_t wide = 0;
  number(wide);
  if (wide < std::numeric_limits<std::int32_t>::min() ||
      wide > std::numeric_limits<std::int32_t>::max())
    return fail();
  value = static_cast<std::int32_t>(wide);
}

void FieldReader::flag(bool& value) {
  const std::uint8_t code = byte();
  if (code > 1) return fail();
  value = code == 1;
}

void FieldReader::text(std::string& value) {
  std::uint64_t size = 0;
  number(size);
  if (size > left_.size()) return fail();
  value.assign(left_.substr(0, size));
  left_.remove_prefix(size);
}

}  // namespace tutti
