#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace tutti {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return invalid_input("it is odd");
  return number / 2;
}

TEST(result, it_holds_a_value_or_an_error) {
  EXPECT_EQ(*half(8), 4);
  ASSERT_FALSE(half(7));
  EXPECT_EQ(half(7).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(half(7).error().message, "it is odd");
}

TEST(result, a_value_can_be_moved_out) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 3);
}

TEST(result, without_a_value_it_is_success_or_an_error) {
  EXPECT_TRUE(Result<void>());
  EXPECT_FALSE(Result<void>(conflict("taken")));
  EXPECT_EQ(Result<void>(conflict("taken")).error().code, ErrorCode::kConflict);
}

TEST(result, used_up_disks_and_descriptors_are_exhaustion) {
  EXPECT_EQ(io_error("write x", ENOSPC).code, ErrorCode::kExhausted);
  EXPECT_EQ(io_error("open x", EMFILE).code, ErrorCode::kExhausted);
  EXPECT_EQ(io_error("open x", EACCES).code, ErrorCode::kIo);
  EXPECT_THAT(io_error("open x", EACCES).message, testing::StartsWith("open x: "));
}

TEST(result, every_code_has_a_name_of_its_own) {
  EXPECT_STREQ(error_code_name(ErrorCode::kNotFound), "not_found");
  EXPECT_STREQ(error_code_name(ErrorCode::kInternal), "internal");
  EXPECT_STREQ(error_code_name(ErrorCode::kExhausted), "exhausted");
}

TEST(result_death_test, asking_for_the_side_that_is_not_there_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)*half(7), "bug at");
  EXPECT_DEATH((void)half(8).error(), "bug at");
}

}  // namespace
}  // namespace tutti
