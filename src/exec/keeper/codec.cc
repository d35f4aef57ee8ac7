#include "exec/keeper/codec.h"

#include <cstring>

namespace tutti {
namespace {

std::uint64_t little_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

void Encoder::texts(const std::vector<std::string>& values) {
  u32(static_cast<std::uint32_t>(values.size()));
  for (const std::string& value : values) text(value);
}

std::uint64_t Decoder::integer(std::size_t bytes) {
  if (rest_.size() < bytes) {
    fail();
    return 0;
  }
  const std::uint64_t value = little_endian(rest_.data(), bytes);
  rest_.remove_prefix(bytes);
  return value;
}

bool Decoder::flag() {
  const std::uint8_t value = u8();
  if (value > 1) fail();
  return value == 1;
}

std::string Decoder::text() {
  const std::uint32_t size = u32();
  if (rest_.size() < size) {
    fail();
    return {};
  }
  std::string value(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return value;
}

std::vector<std::string> Decoder::texts() {
  const std::uint32_t n = count(4);
  std::vector<std::string> values;
  values.reserve(n);
  for (std::uint32_t i = 0; i < n && ok_; ++i) values.push_back(text());
  return values;
}

std::uint32_t Decoder::count(std::size_t smallest) {
  const std::uint32_t n = u32();
  if (n > rest_.size() / smallest) {
    fail();
    return 0;
  }
  return n;
}

char* FrameBuffer::reserve(std::size_t size) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (bytes_.size() - end_ < size && begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (bytes_.size() - end_ < size) bytes_.resize(end_ + size);
  return bytes_.data() + end_;
}

void FrameBuffer::append(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
  commit(bytes.size());
}

FrameBuffer::Next FrameBuffer::next(Frame& frame) {
  const std::size_t held = end_ - begin_;
  if (held < 4) return Next::kNeedMore;
  const std::size_t length = little_endian(bytes_.data() + begin_, 4);
  if (length < 1 || length > kMaxFrame) return Next::kBroken;
  if (held < 4 + length) return Next::kNeedMore;
  frame.type = static_cast<std::uint8_t>(bytes_[begin_ + 4]);
  frame.payload = std::string_view(bytes_).substr(begin_ + 5, length - 1);
  begin_ += 4 + length;
  return Next::kFrame;
}

}  // namespace tutti
