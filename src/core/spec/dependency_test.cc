#include "core/spec/dependency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using When = Dependency::When;

TEST(Dependencies, are_job_numbers_with_the_wanted_result) {
  EXPECT_THAT(
      *parse_dependencies("12, 13:any,14:failure,15:success"),
      ElementsAre(Dependency{JobId(12), When::kSuccess}, Dependency{JobId(13), When::kAny},
                  Dependency{JobId(14), When::kFailure}, Dependency{JobId(15), When::kSuccess}));
}

TEST(Dependencies, repeated_alike_count_once) {
  EXPECT_THAT(*parse_dependencies("12,12:success"),
              ElementsAre(Dependency{JobId(12), When::kSuccess}));
}

TEST(Dependencies, on_one_job_with_two_results_are_refused) {
  EXPECT_THAT(parse_dependencies("12,12:any").error().message, HasSubstr("job 12 is named twice"));
}

TEST(Dependencies, that_are_junk_are_refused_with_an_example) {
  for (const char* text : {"", ",", "12,", "0", "-1", "x", "12:", "12:maybe", "12:any:any",
                           "after:12", "last", "12 13", "1.5"}) {
    const auto parsed = parse_dependencies(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("12:any")) << text;
  }
}

TEST(Dependencies, on_a_number_that_no_job_can_have_are_told_so) {
  EXPECT_EQ(parse_dependencies("9223372036854775808:any").error().message,
            "after '9223372036854775808:any': no job has so large a number");
}

TEST(Dependencies, are_written_as_they_are_read) {
  for (const char* text : {"12", "12:any", "12:failure"}) {
    EXPECT_EQ(format_dependency(*parse_dependency(text)), text);
  }
}

}  // namespace
}  // namespace tutti
