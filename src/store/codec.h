#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong_int.h"

namespace tutti {

// Stored records are sequences of fields without names: unsigned numbers as base-128 varints with
// the low group first, signed ones zigzag-coded before that, text as its length and its bytes. A
// record's fields are listed once, in a function template `fields(codec, record)`, which a
// FieldWriter and a FieldReader both walk. See docs/formats/journal.md.

// Appends fields to a buffer that its user owns.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  // Whether fields that came with this version of the encoding are written: always the newest.
  bool since(std::uint8_t /*version*/) const { return true; }

  void number(std::uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<char>(value));
  }
  void number(std::uint32_t value) { number(std::uint64_t{value}); }
  void number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void number(std::int32_t value) { number(std::int64_t{value}); }
  template <typename Tag, typename Rep>
  void number(const StrongInt<Tag, Rep>& value) {
    number(value.value);
  }
  void flag(bool value) { out_.push_back(value ? 1 : 0); }
  void text(std::string_view value) {
    number(std::uint64_t{value.size()});
    out_.append(value);
  }
  template <typename Enum>
  void choice(Enum value, Enum) {
    out_.push_back(static_cast<char>(value));
  }
  template <typename Item, typename Walk>
  void list(const std::vector<Item>& items, Walk walk) {
    number(std::uint64_t{items.size()});
    for (const Item& item : items) walk(item);
  }

 private:
  std::string& out_;
};

// Reads fields from a view of bytes that outlives it. Strict: a number has one encoding, flags are
// 0 or 1, choices are known. After the first fault every field reads as zero and `complete` is
// false.
class FieldReader {
 public:
  FieldReader(std::string_view bytes, std::uint8_t version) : left_(bytes), version_(version) {}

  // Whether the record has the fields that came with this version of the encoding.
  bool since(std::uint8_t version) const { return version_ >= version; }

  // Whether all was well so far and nothing is left.
  bool complete() const { return !failed_ && left_.empty(); }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    left_ = {};
  }

  void number(std::uint64_t& value);
  void number(std::uint32_t& value);
  void number(std::int64_t& value);
  void number(std::int32_t& value);
  template <typename Tag, typename Rep>
  void number(StrongInt<Tag, Rep>& value) {
    number(value.value);
  }
  void flag(bool& value);
  void text(std::string& value);
  template <typename Enum>
  void choice(Enum& value, Enum last) {
    const std::uint8_t code = byte();
    if (code > static_cast<std::uint8_t>(last)) return fail();
    value = static_cast<Enum>(code);
  }
  template <typename Item, typename Walk>
  void list(std::vector<Item>& items, Walk walk) {
    std::uint64_t size = 0;
    number(size);
    // An item takes at least a byte, so a length that lies cannot make us allocate.
    if (size > left_.size()) return fail();
    items.resize(size);
    for (Item& item : items) walk(item);
  }

 private:
  std::uint8_t byte();

  std::string_view left_;
  std::uint8_t version_;
  bool failed_ = false;
};

}  // namespace tutti
