#include "cli/output/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing/fake.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::Not;
using Unit = Figure::Unit;
using Better = Figure::Better;

RunFigures run_of(std::string policy, double mean, double use) {
  RunFigures run{.policy = std::move(policy), .workload = "w.yaml", .jobs = 3, .finished = 3};
  run.cluster = "1 node: 4 cores";
  run.figures = {{"mean", Unit::kSeconds, Better::kLess, mean},
                 {"use", Unit::kPart, Better::kMore, use},
                 {"deadlines", Unit::kPart, Better::kMore, 0, false}};
  return run;
}

TEST(simulation_table, one_run_has_its_figures_and_no_star) {
  FakeScreen screen;
  EXPECT_EQ(render_simulation({run_of("fair", 90, 0.5)}, screen),
            "w.yaml  3 jobs on 1 node: 4 cores\n"
            "\n"
            "        fair\n"
            "mean   1m30s\n"
            "use   50.0 %\n");
}

TEST(simulation_table, of_several_the_best_is_marked) {
  FakeScreen screen;
  const std::string table =
      render_simulation({run_of("fair", 90, 0.5), run_of("fifo", 60, 0.5)}, screen);
  EXPECT_THAT(table, HasSubstr("mean   1m30s        1m  *\n"));
  // Who is as good as all others is not better.
  EXPECT_THAT(table, HasSubstr("use   50.0 %    50.0 %\n"));
}

TEST(simulation_table, what_did_not_finish_is_said) {
  FakeScreen screen;
  RunFigures run = run_of("fair", 90, 0.5);
  run.finished = 1;
  run.notes = {"2 jobs\x1b[31m were left out."};
  const std::string table = render_simulation({run}, screen);
  EXPECT_THAT(table, HasSubstr("Note: 2 jobs did not finish; they count as ended"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
}

TEST(simulation_table, figures_have_their_units) {
  EXPECT_EQ(figure_text({"", Unit::kSeconds, Better::kLess, 0}), "0s");
  EXPECT_EQ(figure_text({"", Unit::kMilliseconds, Better::kLess, 1.234}), "1.23ms");
  EXPECT_EQ(figure_text({"", Unit::kHours, Better::kLess, 0.5}), "0.5h");
  EXPECT_EQ(figure_text({"", Unit::kNumber, Better::kMore, 1234567}), "1,234,567");
  EXPECT_EQ(figure_text({"", Unit::kRatio, Better::kLess, 2.005}), "2.00");
  EXPECT_EQ(figure_text({"", Unit::kPart, Better::kLess, 0, false}), "-");
}

}  // namespace
}  // namespace tutti
