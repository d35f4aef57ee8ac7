#include "exec/ssh/snapshot_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace tutti {
namespace {

constexpr std::size_t kBlock = 512;
// Small entries are written together.
constexpr std::size_t kBuffer = std::size_t{64} << 10;
constexpr std::int64_t kSplice = std::int64_t{1} << 20;

// Where the fields of a header are.
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kModified{136, 12};
constexpr Field kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kTarget{157, 100};
constexpr Field kMagic{257, 8};
constexpr std::string_view kGnuMagic{"ustar  \0", 8};
// Of files with holes: which parts follow, four in the header and the rest in blocks of their own.
constexpr std::size_t kParts = 386;
constexpr std::size_t kPartsInHeader = 4;
constexpr std::size_t kMoreParts = 482;
constexpr Field kRealSize{483, 12};
constexpr std::size_t kPartsInBlock = 21;
constexpr std::size_t kMoreBlocks = 504;
constexpr std::size_t kPartNumber = 12;
// The name of the entries whose content is the name or the target of the entry that follows.
constexpr std::string_view kLongName = "././@LongLink";

void put(std::string& header, Field field, std::string_view text) {
  header.replace(field.at, std::min(field.size, text.size()), text.substr(0, field.size));
}

// In octal digits with a NUL behind; what does not fit as bytes, the highest first, after 0x80.
void put_number(std::string& header, Field field, std::uint64_t number) {
  const std::size_t digits = field.size - 1;
  const bool fits = number >> (3 * digits) == 0;
  const unsigned bits = fits ? 3 : 8;
  for (std::size_t i = fits ? digits : field.size; i > 0; --i) {
    const std::uint64_t digit = number & ((1u << bits) - 1);
    header[field.at + i - 1] = static_cast<char>(fits ? '0' + digit : digit);
    number >>= bits;
  }
  if (!fits) header[field.at] = static_cast<char>(0x80);
}

void put_checksum(std::string& header) {
  put(header, kChecksum, "        ");
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  // One digit less than would fit: that is how it has always been written.
  put_number(header, {kChecksum.at, kChecksum.size - 1}, sum);
}

// One entry's header: what is the same for all of them and what is told of it.
struct TarEntry {
  char type = '0';
  std::string_view path;
  std::uint32_t mode = 0;
  std::int64_t size = 0;
  std::string_view target = {};
  std::span<const FileExtent> parts = {};  // of a file with holes; `size` is theirs
  std::int64_t real_size = 0;
};

// As many parts as the block has room for; returns the others.
std::span<const FileExtent> put_parts(std::string& block, std::size_t at, std::size_t room,
                                      std::span<const FileExtent> parts) {
  const std::size_t count = std::min(room, parts.size());
  for (const FileExtent& part : parts.first(count)) {
    put_number(block, {at, kPartNumber}, static_cast<std::uint64_t>(part.at));
    put_number(block, {at + kPartNumber, kPartNumber}, static_cast<std::uint64_t>(part.size));
    at += 2 * kPartNumber;
  }
  return parts.subspan(count);
}

Error was_replaced() {
  return {ErrorCode::kUnavailable, "a file of the snapshot was replaced while it was read"};
}

// The stream while it is written.
class TarWriter {
 public:
  explicit TarWriter(int fd) : fd_(fd) {}

  // The content follows with add(), exactly `size` bytes of it, and then pad().
  Result<void> begin(const TarEntry& entry) {
    if (entry.target.size() > kTarget.size) append_long('K', entry.target);
    if (entry.path.size() > kName.size) append_long('L', entry.path);
    append_header(entry);
    return buffer_.size() < kBuffer ? Result<void>() : flush();
  }
  Result<void> add(std::string_view content) {
    written_ += content.size();
    if (buffer_.size() + content.size() < kBuffer) {
      buffer_ += content;
      return {};
    }
    if (Result<void> flushed = flush(); !flushed) return flushed;
    return write_all(content);
  }
  // All of a file, without looking at it.
  Result<void> add_whole(int file, std::int64_t size, TransferMeter& meter) {
    if (Result<void> flushed = flush(); !flushed) return flushed;
    while (size > 0) {
      const std::size_t most = static_cast<std::size_t>(std::min(size, std::int64_t{kSplice}));
      ssize_t n = ::splice(file, nullptr, fd_, nullptr, most, SPLICE_F_MOVE);
      if (n < 0 && errno == EINVAL) n = ::sendfile(fd_, file, nullptr, most);  // not to a pipe
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_error();
      if (n == 0) return was_replaced();
      size -= n;
      meter.done += n;
      written_ += static_cast<std::uint64_t>(n);
    }
    return {};
  }
  void pad() { append_padding(written_); }
  Result<void> finish() {
    buffer_.append(2 * kBlock, '\0');
    return flush();
  }

 private:
  void append_header(const TarEntry& entry) {
    std::string header(kBlock, '\0');
    put(header, kName, entry.path);
    put_number(header, kMode, entry.mode);
    put_number(header, kOwner, 0);
    put_number(header, kGroup, 0);
    put_number(header, kSize, static_cast<std::uint64_t>(entry.size));
    put_number(header, kModified, static_cast<std::uint64_t>(now_));
    header[kType] = entry.type;
    put(header, kTarget, entry.target);
    put(header, kMagic, kGnuMagic);
    std::span<const FileExtent> rest = entry.parts;
    if (!rest.empty()) {
      rest = put_parts(header, kParts, kPartsInHeader, rest);
      header[kMoreParts] = rest.empty() ? 0 : 1;
      put_number(header, kRealSize, static_cast<std::uint64_t>(entry.real_size));
    }
    put_checksum(header);
    buffer_ += header;
    while (!rest.empty()) {
      std::string block(kBlock, '\0');
      rest = put_parts(block, 0, kPartsInBlock, rest);
      block[kMoreBlocks] = rest.empty() ? 0 : 1;
      buffer_ += block;
    }
    written_ = 0;
  }
  void append_long(char type, std::string_view text) {
    const std::size_t size = text.size() + 1;
    append_header({type, kLongName, 0644, static_cast<std::int64_t>(size)});
    buffer_ += text;
    buffer_ += '\0';
    append_padding(size);
  }
  void append_padding(std::uint64_t size) {
    buffer_.append((kBlock - size % kBlock) % kBlock, '\0');
  }
  Result<void> flush() {
    Result<void> written = write_all(buffer_);
    buffer_.clear();
    return written;
  }
  static Error write_error() {
    if (errno == EPIPE)
      return Error{ErrorCode::kUnavailable, "the other end has closed the stream of files"};
    return io_error("cannot write the stream of files", errno);
  }
  Result<void> write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_error();
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }

  int fd_;
  std::string buffer_;
  std::uint64_t written_ = 0;  // of the entry's content
  const std::time_t now_ = std::time(nullptr);
};

std::int64_t sum_of(std::span<const FileExtent> parts) {
  std::int64_t sum = 0;
  for (const FileExtent& part : parts) sum += part.size;
  return sum;
}

// What of a piece that begins at `at` lies in the parts.
Result<void> add_piece(TarWriter& tar, std::span<const FileExtent> parts, std::int64_t at,
                       std::string_view piece) {
  const std::int64_t end = at + static_cast<std::int64_t>(piece.size());
  for (const FileExtent& part : parts) {
    const std::int64_t first = std::max(part.at, at);
    const std::int64_t last = std::min(part.at + part.size, end);
    if (first >= last) continue;
    const auto from = static_cast<std::size_t>(first - at);
    Result<void> added = tar.add(piece.substr(from, static_cast<std::size_t>(last - first)));
    if (!added) return added;
  }
  return {};
}

Result<void> add_known(TarWriter& tar, int file, std::span<const FileExtent> parts,
                       TransferMeter& meter) {
  for (const FileExtent& part : parts) {
    if (::lseek(file, part.at, SEEK_SET) < 0) return was_replaced();
    if (Result<void> added = tar.add_whole(file, part.size, meter); !added) return added;
  }
  return {};
}

// More than was announced does not fit. It is damage, of which read_blob tells in the end.
Result<void> add_checked(TarWriter& tar, const SnapshotFolder& snapshots, const std::string& sha256,
                         std::span<const FileExtent> parts, std::int64_t size,
                         TransferMeter& meter) {
  std::int64_t at = 0;
  Result<void> added = snapshots.read_blob(sha256, [&](std::string_view bytes) {
    const std::int64_t begin = at;
    at += static_cast<std::int64_t>(bytes.size());
    meter.done += static_cast<std::int64_t>(bytes.size());
    return add_piece(tar, parts, begin, bytes);
  });
  if (added && at != size) return was_replaced();
  return added;
}

Result<void> begin_file(TarWriter& tar, const SnapshotEntry& entry,
                        const std::vector<FileExtent>& parts, std::int64_t size) {
  const std::uint32_t mode = entry.mode & 0777;
  const std::int64_t sent = sum_of(parts);
  if (sent == size) return tar.begin({'0', entry.path, mode, size});
  std::vector<FileExtent> told = parts;
  // A part without content tells where a hole at the end ends.
  if (told.empty() || told.back().at + told.back().size < size) told.push_back({size, 0});
  return tar.begin({'S', entry.path, mode, sent, {}, told, size});
}

Result<void> add_file(TarWriter& tar, const SnapshotFolder& snapshots, const SnapshotEntry& entry,
                      TransferMeter& meter, TarHoles holes) {
  const Result<std::int64_t> size = snapshots.blob_size(entry.sha256);
  if (!size) return size.error();
  Result<std::vector<FileExtent>> parts = std::vector<FileExtent>{{0, *size}};
  if (holes == TarHoles::kLeftOut) parts = snapshots.blob_extents(entry.sha256);
  if (!parts) return parts.error();
  Result<void> added = begin_file(tar, entry, *parts, *size);
  if (!added) return added;
  if (const UniqueFd known = snapshots.open_known(entry.sha256)) {
    added = add_known(tar, known.get(), *parts, meter);
    meter.done += *size - sum_of(*parts);
  } else {
    added = add_checked(tar, snapshots, entry.sha256, *parts, *size, meter);
  }
  if (added) tar.pad();
  return added;
}

Result<void> add_entry(TarWriter& tar, const SnapshotFolder& snapshots, const SnapshotEntry& entry,
                       TransferMeter& meter, TarHoles holes) {
  if (!entry.link_target.empty()) return tar.begin({'2', entry.path, 0777, 0, entry.link_target});
  if (!entry.sha256.empty()) return add_file(tar, snapshots, entry, meter, holes);
  // Its owner can always fill and remove it.
  const std::string folder = entry.path + "/";
  return tar.begin({'5', folder, (entry.mode & 0777) | 0700, 0});
}

}  // namespace

std::int64_t bytes_of(const SnapshotFolder& snapshots, const SnapshotManifest& entries) {
  std::int64_t bytes = 0;
  for (const SnapshotEntry& entry : entries) {
    if (entry.sha256.empty()) continue;
    if (const auto size = snapshots.blob_size(entry.sha256)) bytes += *size;
  }
  return bytes;
}

Result<void> write_snapshot_tar(const SnapshotFolder& snapshots, const SnapshotManifest& entries,
                                const std::string& end_mark, int fd, TransferMeter& meter,
                                TarHoles holes) {
  meter.total = bytes_of(snapshots, entries);
  TarWriter tar(fd);
  // Links last, so that nothing is ever written through one.
  for (const bool links : {false, true}) {
    for (const SnapshotEntry& entry : entries) {
      if (entry.link_target.empty() == links) continue;
      if (Result<void> added = add_entry(tar, snapshots, entry, meter, holes); !added) return added;
    }
  }
  if (Result<void> marked = tar.begin({'0', end_mark, 0600, 0}); !marked) return marked;
  return tar.finish();
}

}  // namespace tutti
