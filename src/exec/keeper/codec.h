#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// Appends values to a byte string: integers little-endian, texts and lists after a 32-bit count.
// The format is that of docs/formats/keeper.md. Does not own the string.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(std::uint32_t value) { integer(value, 4); }
  void u64(std::uint64_t value) { integer(value, 8); }
  void i64(std::int64_t value) { integer(static_cast<std::uint64_t>(value), 8); }
  void flag(bool value) { u8(value ? 1 : 0); }
  void text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    out_.append(value);
  }
  void texts(const std::vector<std::string>& values);

 private:
  void integer(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) u8(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  std::string& out_;
};

// Reads what Encoder wrote, from bytes that nobody vouches for. After the first value that does not
// fit, every value is zero or empty and ok() is false. Does not own the bytes.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}
  std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u64() { return integer(8); }
  std::int64_t i64() { return static_cast<std::int64_t>(integer(8)); }
  bool flag();
  std::string text();
  std::vector<std::string> texts();
  // The length of a list whose elements take at least `smallest` bytes each, so that a forged count
  // cannot make anyone reserve more memory than was sent.
  std::uint32_t count(std::size_t smallest);

  void fail() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  // Everything was read and nothing is left over.
  bool finished() const { return ok_ && rest_.empty(); }

 private:
  std::uint64_t integer(std::size_t bytes);
  std::string_view rest_;
  bool ok_ = true;
};

// A frame's type and content; the bytes belong to the FrameBuffer it came from.
struct Frame {
  std::uint8_t type = 0;
  std::string_view payload;
};

// Cuts a byte stream into frames: a 32-bit length of what follows, a type, the content. One owner,
// one thread.
class FrameBuffer {
 public:
  static constexpr std::size_t kMaxFrame = 64u << 20;
  enum class Next { kFrame, kNeedMore, kBroken };

  // Room for at least `size` more bytes; commit() says how many were written there.
  char* reserve(std::size_t size);
  void commit(std::size_t size) { end_ += size; }
  void append(std::string_view bytes);
  // The next whole frame, valid until the buffer is written to again. kBroken: the peer does not
  // speak this protocol and the connection must end.
  Next next(Frame& frame);
  void clear() { begin_ = end_ = 0; }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace tutti
