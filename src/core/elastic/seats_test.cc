#include "core/elastic/seats.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Seats, the_emptiest_nodes_come_first) {
  Seats seats({{"a100", 3, 4}});
  EXPECT_EQ(seats.take_emptiest({0, 1, 2}), (Seat{0}));
  EXPECT_EQ(seats.take_emptiest({0, 1, 1}), (Seat{1}));
  EXPECT_EQ(seats.take_emptiest({0, 2, 4}), (Seat{2, 1}));
}

TEST(Seats, the_fullest_nodes_that_have_room_come_first) {
  Seats seats({{"a100", 3, 4}});
  EXPECT_EQ(seats.take_fullest({0, 1, 2}), (Seat{0}));
  EXPECT_EQ(seats.take_fullest({0, 1, 1}), (Seat{0}));
  EXPECT_EQ(seats.take_fullest({0, 1, 2}), (Seat{1}));
  EXPECT_EQ(seats.take_fullest({0, 1, 4}), (Seat{2}));
}

TEST(Seats, what_does_not_fit_on_the_nodes_takes_nothing) {
  Seats seats({{"a100", 2, 4}});
  ASSERT_TRUE(seats.take_emptiest({0, 2, 2}));
  EXPECT_FALSE(seats.take_fullest({0, 1, 4}));
  EXPECT_EQ(seats.used(), 2u);
  EXPECT_EQ(seats.stranded(), 6u);
}

TEST(Seats, what_is_given_back_is_free) {
  Seats seats({{"a100", 1, 4}});
  const auto seat = seats.take_fullest({0, 1, 4});
  ASSERT_TRUE(seat);
  seats.give_back({0, 1, 4}, *seat);
  EXPECT_EQ(seats.used(), 0u);
  EXPECT_EQ(seats.stranded(), 0u);
  EXPECT_EQ(seats.free_on(0, 0), 4u);
}

}  // namespace
}  // namespace tutti
