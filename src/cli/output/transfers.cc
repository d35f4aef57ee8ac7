#include "cli/output/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

constexpr std::size_t kBar = 20;
// Below it a rate says nothing.
constexpr double kShortest = 0.2;

// A stream has a little more than the files in it.
std::int64_t done_of(const TransferView& transfer) {
  return transfer.total_bytes > 0 ? std::min(transfer.bytes, transfer.total_bytes) : transfer.bytes;
}

std::string bar(const TransferView& transfer) {
  const double part =
      static_cast<double>(done_of(transfer)) / static_cast<double>(transfer.total_bytes);
  const auto full = static_cast<std::size_t>(part * static_cast<double>(kBar));
  return "[" + std::string(full, '#') + std::string(kBar - full, '-') + "]";
}

// All of one direction together: the bytes are added, the time is the longest.
struct Sum {
  TransferView all;
  std::vector<std::string> nodes;
  bool total_known = true;
};

Sum sum_of(const std::vector<NodeView>& nodes, std::uint64_t job, bool back) {
  Sum sum;
  sum.all.back = back;
  for (const NodeView& node : nodes) {
    for (const TransferView& one : node.transfers) {
      const bool mine = std::find(one.jobs.begin(), one.jobs.end(), job) != one.jobs.end();
      if (!mine || one.back != back) continue;
      sum.all.bytes += done_of(one);
      sum.all.total_bytes += one.total_bytes;
      sum.all.seconds = std::max(sum.all.seconds, one.seconds);
      sum.total_known = sum.total_known && one.total_bytes > 0;
      if (sum.nodes.empty() || sum.nodes.back() != node.name) sum.nodes.push_back(node.name);
    }
  }
  if (!sum.total_known) sum.all.total_bytes = 0;
  return sum;
}

}  // namespace

std::string transfer_text(const TransferView& transfer) {
  const auto done = static_cast<double>(done_of(transfer));
  const auto total = static_cast<double>(transfer.total_bytes);
  std::string text = bytes_text(done);
  if (total > 0) text += " of " + bytes_text(total);
  if (transfer.seconds < kShortest || done <= 0) return text;
  const double rate = done / transfer.seconds;
  text += ", " + bytes_text(rate) + "/s";
  if (total <= 0) return text;
  const double left = std::ceil((total - done) / rate);
  if (left > 1e9) return text;
  return text + ", " + format_duration(seconds(static_cast<std::int64_t>(left))) + " left";
}

std::string transfer_line(const std::vector<NodeView>& nodes, std::uint64_t job, int width) {
  Sum sum = sum_of(nodes, job, false);
  if (sum.nodes.empty()) sum = sum_of(nodes, job, true);
  if (sum.nodes.empty()) return {};
  const std::string where =
      sum.nodes.size() == 1 ? printable(sum.nodes.front()) : counted(sum.nodes.size(), "machine");
  const std::string what =
      fmt::format("  copying {} {}  ", sum.all.back ? "results from" : "to", where);
  const std::string far = transfer_text(sum.all);
  const std::size_t room = width > 0 ? static_cast<std::size_t>(width) : 80;
  const bool fits = columns_of(what) + kBar + 4 + columns_of(far) <= room;
  if (sum.all.total_bytes > 0 && fits) return what + bar(sum.all) + "  " + far;
  return cut_to(what + far, room);
}

}  // namespace tutti
