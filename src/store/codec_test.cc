#include "store/codec.h"

#include <gtest/gtest.h>

#include <limits>

namespace tutti {
namespace {

template <typename Number>
std::pair<Number, bool> read_number(std::string_view bytes) {
  FieldReader reader(bytes, 1);
  Number value = 0;
  reader.number(value);
  return {value, reader.complete()};
}

TEST(Codec, numbers_at_the_edges_come_back) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    std::string bytes;
    FieldWriter(bytes).number(value);
    EXPECT_EQ(read_number<std::int64_t>(bytes), std::pair(value, true));
  }
  std::string most;
  FieldWriter(most).number(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(most.size(), 10u);
  EXPECT_EQ(read_number<std::uint64_t>(most).first, std::numeric_limits<std::uint64_t>::max());
}

TEST(Codec, a_number_has_one_encoding) {
  EXPECT_FALSE(read_number<std::uint64_t>(std::string_view("\x81\x00", 2)).second);
  EXPECT_TRUE(read_number<std::uint64_t>(std::string_view("\x00", 1)).second);
}

TEST(Codec, a_number_that_overflows_is_refused) {
  EXPECT_FALSE(read_number<std::uint64_t>("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02").second);
  EXPECT_FALSE(read_number<std::uint64_t>("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").second);
  EXPECT_FALSE(read_number<std::uint32_t>("\x80\x80\x80\x80\x10").second);
  EXPECT_FALSE(read_number<std::int32_t>("\x80\x80\x80\x80\x10").second);
}

TEST(Codec, a_length_beyond_the_bytes_is_refused_before_anything_is_allocated) {
  const std::string_view lie("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  std::string text;
  FieldReader as_text(lie, 1);
  as_text.text(text);
  EXPECT_TRUE(as_text.failed());
  std::vector<std::string> items;
  FieldReader as_list(lie, 1);
  as_list.list(items, [&](std::string& item) { as_list.text(item); });
  EXPECT_TRUE(as_list.failed());
  EXPECT_TRUE(items.empty());
}

TEST(Codec, flags_and_choices_out_of_range_are_refused) {
  enum class Colour : std::uint8_t { kRed, kBlue };
  bool flag = false;
  FieldReader two("\x02", 1);
  two.flag(flag);
  EXPECT_TRUE(two.failed());
  Colour colour = Colour::kRed;
  FieldReader again("\x02", 1);
  again.choice(colour, Colour::kBlue);
  EXPECT_TRUE(again.failed());
}

TEST(Codec, bytes_left_over_are_noticed) {
  FieldReader reader("\x01\x01", 1);
  bool flag = false;
  reader.flag(flag);
  EXPECT_FALSE(reader.failed());
  EXPECT_FALSE(reader.complete());
}

}  // namespace
}  // namespace tutti
