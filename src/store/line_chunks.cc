#include "store/line_chunks.h"

#include <algorithm>
#include <span>

#include "store/job_rows.h"
#include "store/record_codec.h"

namespace tutti {
namespace {

constexpr std::size_t kLinesPerRow = 256;
constexpr std::size_t kBytesPerRow = 64 * 1024;

// How many of the lines go into one row: at least one, however long.
std::size_t row_length(std::span<const std::string> lines) {
  const std::size_t most = std::min(lines.size(), kLinesPerRow);
  std::size_t length = 1;
  std::size_t bytes = lines[0].size();
  while (length < most && bytes + lines[length].size() <= kBytesPerRow)
    bytes += lines[length++].size();
  return length;
}

}  // namespace

Result<void> write_lines(Connection& connection, JobId job, const std::vector<std::string>& lines) {
  Query insert = connection.query("INSERT INTO lines(job, first, body) VALUES(?, ?, ?)");
  std::string body;
  for (std::size_t first = 0; first < lines.size();) {
    const auto left = std::span(lines).subspan(first);
    const std::size_t length = row_length(left);
    encode_texts(left.first(length), body);
    insert.integer(static_cast<std::int64_t>(job.value));
    insert.integer(static_cast<std::int64_t>(first)).blob(body);
    if (auto inserted = insert.run(); !inserted) return inserted;
    first += length;
  }
  return {};
}

Result<bool> LineReader::fetch(Connection& connection, JobId job, std::uint32_t line) {
  if (keeps(job, line)) return true;
  Query query = connection.query(
      "SELECT first, body FROM lines WHERE job = ? AND first <= ? ORDER BY first DESC LIMIT 1");
  query.integer(static_cast<std::int64_t>(job.value)).integer(line);
  const auto row = query.next();
  if (!row || !*row) return row;
  job_ = job;
  first_ = static_cast<std::uint32_t>(query.integer_at(0));
  if (!decode_texts(query.bytes_at(1), lines_)) {
    lines_.clear();
    return connection.corrupt("lines of " + job_words(job));
  }
  return keeps(job, line);
}

Result<std::vector<std::string>> LineReader::read(Connection& connection, JobId job,
                                                  std::uint32_t first, std::uint32_t count) {
  std::vector<std::string> found;
  const std::uint64_t end = std::uint64_t{first} + count;
  for (std::uint64_t line = first; line < end;) {
    const auto there = fetch(connection, job, static_cast<std::uint32_t>(line));
    if (!there) return there.error();
    if (!*there) break;
    const std::size_t offset = line - first_;
    const std::size_t length = std::min<std::size_t>(lines_.size() - offset, end - line);
    const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(offset);
    found.insert(found.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
    line += length;
  }
  return found;
}

}  // namespace tutti
