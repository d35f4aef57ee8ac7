#include "base/units.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace tutti {
namespace {

TEST(units, quantities_add_and_multiply) {
  EXPECT_EQ(MilliCpu(1500) + MilliCpu(500), MilliCpu(2000));
  EXPECT_EQ(MiB(10) * 3 - MiB(5), MiB(25));
  Duration total = seconds(1);
  total += milliseconds(500);
  total -= microseconds(1);
  EXPECT_EQ(total.value, 1'499'999);
}

TEST(units, kinds_of_numbers_do_not_mix) {
  EXPECT_FALSE((std::is_convertible_v<MilliCpu, MiB>));
  EXPECT_FALSE((std::is_convertible_v<std::int64_t, Duration>));
  EXPECT_FALSE((std::is_convertible_v<Duration, TimePoint>));
}

TEST(units, a_zero_moment_is_no_moment) {
  EXPECT_FALSE(TimePoint());
  EXPECT_TRUE(TimePoint(1));
}

TEST(units, moments_differ_by_durations) {
  const TimePoint start(1'000'000);
  EXPECT_EQ((start + seconds(2)) - start, seconds(2));
  EXPECT_EQ(start - seconds(1), TimePoint(0));
  EXPECT_LT(start, start + microseconds(1));
}

TEST(units, never_is_later_than_any_moment) {
  EXPECT_EQ(earlier(TimePoint(2), TimePoint(1)), TimePoint(1));
  EXPECT_EQ(earlier(TimePoint(), TimePoint(1)), TimePoint(1));
  EXPECT_EQ(earlier(TimePoint(1), TimePoint()), TimePoint(1));
  EXPECT_FALSE(earlier(TimePoint(), TimePoint()));
}

TEST(strong_int, ids_compare_and_hash) {
  using Id = StrongInt<struct TestTag, std::uint32_t>;
  EXPECT_LT(Id(1), Id(2));
  std::unordered_set<Id> ids = {Id(1), Id(2), Id(1)};
  EXPECT_EQ(ids.size(), 2u);
}

}  // namespace
}  // namespace tutti
