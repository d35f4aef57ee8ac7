#include "cli/output/rank_lines.h"

#include <gtest/gtest.h>

#include "cli/testing/fake.h"

namespace tutti {
namespace {

TEST(RankLines, each_line_has_the_number_of_its_rank) {
  FakeScreen screen;
  {
    RankLines lines(screen, 12);
    lines.add(3, false, "one\ntw");
    lines.add(11, false, "other\n");
    lines.add(3, true, "bad\n");
    lines.add(3, false, "o\n\nlast");
  }
  EXPECT_EQ(screen.out_text, "[ 3] one\n[11] other\n[ 3] two\n[ 3] \n[ 3] last\n");
  EXPECT_EQ(screen.err_text, "[ 3] bad\n");
}

TEST(RankLines, a_line_without_an_end_is_shown_in_pieces) {
  FakeScreen screen;
  RankLines lines(screen, 1);
  lines.add(0, false, std::string(100'000, 'x'));
  EXPECT_GT(screen.out_text.size(), 100'000u);
}

}  // namespace
}  // namespace tutti
