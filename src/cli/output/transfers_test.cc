#include "cli/output/transfers.h"

#include <gtest/gtest.h>

#include "cli/output/text.h"

namespace tutti {
namespace {

constexpr std::int64_t kMega = 1'000'000;

TransferView copy(std::int64_t bytes, std::int64_t total, double seconds, bool back = false) {
  return {.back = back, .jobs = {7}, .bytes = bytes, .total_bytes = total, .seconds = seconds};
}

NodeView node(const std::string& name, std::vector<TransferView> transfers) {
  NodeView view;
  view.name = name;
  view.transfers = std::move(transfers);
  return view;
}

TEST(Transfers, a_copy_is_told_with_its_rate_and_the_time_left) {
  EXPECT_EQ(transfer_text(copy(61 * kMega, 100 * kMega, 0.73)),
            "61 MB of 100 MB, 84 MB/s, 1s left");
  EXPECT_EQ(transfer_text(copy(1234 * kMega, 123'400 * kMega, 10)),
            "1.2 GB of 123 GB, 123 MB/s, 16m30s left");
}

TEST(Transfers, what_is_not_known_is_left_out) {
  EXPECT_EQ(transfer_text(copy(0, 0, 0)), "0 B");
  EXPECT_EQ(transfer_text(copy(1500, 0, 1)), "2 kB, 2 kB/s");
  EXPECT_EQ(transfer_text(copy(0, 100 * kMega, 3)), "0 B of 100 MB");
  EXPECT_EQ(transfer_text(copy(kMega, 100 * kMega, 0.01)), "1 MB of 100 MB");
}

TEST(Transfers, a_stream_with_a_little_more_than_its_files_is_complete) {
  EXPECT_EQ(transfer_text(copy(1010, 1000, 1)), "1 kB of 1 kB, 1 kB/s, 0s left");
}

TEST(Transfers, the_line_of_a_job_names_the_machine) {
  const std::vector<NodeView> nodes = {node("here", {}),
                                       node("gpu01", {copy(60 * kMega, 100 * kMega, 1)})};
  EXPECT_EQ(transfer_line(nodes, 7, 100),
            "  copying to gpu01  [############--------]  60 MB of 100 MB, 60 MB/s, 1s left");
  EXPECT_EQ(transfer_line(nodes, 8, 100), "");
}

TEST(Transfers, copies_to_several_machines_are_one_line) {
  const std::vector<NodeView> nodes = {node("a", {copy(kMega, 2 * kMega, 1)}),
                                       node("b", {copy(kMega, 2 * kMega, 2)}),
                                       node("c", {copy(kMega, 2 * kMega, 1, true)})};
  EXPECT_EQ(transfer_line(nodes, 7, 100),
            "  copying to 2 machines  [##########----------]  2 MB of 4 MB, 1 MB/s, 2s left");
}

TEST(Transfers, results_of_unknown_size_have_no_bar) {
  EXPECT_EQ(transfer_line({node("a", {copy(5 * kMega, 0, 1, true)})}, 7, 100),
            "  copying results from a  5 MB, 5 MB/s");
}

TEST(Transfers, the_line_fits_the_width) {
  for (int width = 10; width < 100; ++width) {
    const std::string line =
        transfer_line({node("gpu01", {copy(60 * kMega, 100 * kMega, 1)})}, 7, width);
    EXPECT_LE(columns_of(line), static_cast<std::size_t>(width));
  }
}

}  // namespace
}  // namespace tutti
