#include "sim/declared_length.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(declared_length, is_what_is_true_or_nothing) {
  EXPECT_EQ(LengthTeller(Length::kDeclared, 1).next().left(100, 30), 70);
  EXPECT_EQ(LengthTeller(Length::kOblivious, 1).next().left(100, 30), std::nullopt);
}

TEST(declared_length, that_is_exceeded_goes_on_for_a_tenth) {
  EXPECT_EQ(DeclaredLength(0.5).left(100, 30), 20);
  EXPECT_EQ(DeclaredLength(0.5).left(100, 50), 5);
  EXPECT_EQ(DeclaredLength(0.5).left(100, 99), 5);
}

TEST(declared_length, is_wrong_by_another_factor_for_each_job_and_follows_from_the_seed) {
  LengthTeller one(Length::kNoisy, 7);
  LengthTeller same(Length::kNoisy, 7);
  double previous = 0;
  for (int job = 0; job < 100; ++job) {
    const double said = one.next().left(100, 0).value();
    EXPECT_EQ(said, same.next().left(100, 0));
    EXPECT_GE(said, 50);
    EXPECT_LE(said, 200);
    EXPECT_NE(said, previous);
    previous = said;
  }
}

}  // namespace
}  // namespace tutti
