#pragma once

#include <string>

#include "base/result.h"
#include "exec/local/snapshot.h"
#include "exec/ssh/transfer_board.h"

namespace tutti {

// Writes entries of a snapshot to `fd` as a tar stream, straight from their contents, each of which
// is checked on the way unless it is known to be whole. Its last entry is an empty file `end_mark`:
// who unpacks the stream and does not find it has only a part. In GNU's format, because busybox
// reads long names and targets of no other; names are bytes, whatever the locale. `meter` is told
// of the bytes of files. kUnavailable: the reader has gone; SIGPIPE must be ignored or blocked.
// Holes are left out where the reader knows of them, which busybox does not.
enum class TarHoles { kAsZeros, kLeftOut };
Result<void> write_snapshot_tar(const SnapshotFolder& snapshots, const SnapshotManifest& entries,
                                const std::string& end_mark, int fd, TransferMeter& meter,
                                TarHoles holes = TarHoles::kAsZeros);

// Of the files among the entries. What cannot be read counts for nothing.
std::int64_t bytes_of(const SnapshotFolder& snapshots, const SnapshotManifest& entries);

}  // namespace tutti
