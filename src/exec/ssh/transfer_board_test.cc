#include "exec/ssh/transfer_board.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(TransferBoard, shows_what_a_node_gets_and_sends_until_it_is_over) {
  TransferBoard board;
  const auto there = board.add({NodeId(2), false, "digest", JobId(7)});
  const auto back = board.add({NodeId(2), true, "", JobId(6)});
  board.begin(*there);
  there->meter.total = 100;
  there->meter.done = 61;
  ASSERT_EQ(board.of(NodeId(2)).size(), 2u);
  const NodeTransfer one = board.of(NodeId(2))[0];
  EXPECT_FALSE(one.back);
  EXPECT_EQ(one.bytes, 61);
  EXPECT_EQ(one.total, 100);
  const NodeTransfer waits = board.of(NodeId(2))[1];
  EXPECT_TRUE(waits.back);
  EXPECT_EQ(waits.total, std::nullopt);
  EXPECT_EQ(waits.elapsed, Duration());
  EXPECT_TRUE(board.of(NodeId(3)).empty());
  board.remove(there);
  board.remove(back);
  EXPECT_TRUE(board.of(NodeId(2)).empty());
}

TEST(TransferBoard, jobs_that_want_the_same_files_wait_for_one_copy) {
  TransferBoard board;
  const auto there = board.add({NodeId(2), false, "digest", JobId(7)});
  board.join(NodeId(2), "digest", JobId(9));
  board.join(NodeId(2), "other", JobId(10));
  board.join(NodeId(3), "digest", JobId(11));
  EXPECT_EQ(board.of(NodeId(2))[0].jobs, (std::vector<JobId>{JobId(7), JobId(9)}));
}

}  // namespace
}  // namespace tutti
