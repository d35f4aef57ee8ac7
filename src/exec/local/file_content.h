#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "control/snapshots.h"

namespace tutti {

// Is given the content of a file in pieces; an error ends the reading.
using ContentSink = std::function<Result<void>(std::string_view)>;

// Clones the blocks where the file system can, else copies them.
Result<void> copy_file(const std::string& from, const std::string& to, std::uint32_t mode);

// All of an open file in pieces, to `sink`; returns the digest of what was handed on. Holes are not
// read: the kernel would fill memory with them.
Result<std::string> read_hashed(int fd, const std::string& path, const ContentSink& sink);

// Fills `fresh` with the content of `source` and returns its digest. Read once; where the file
// system can share blocks, nothing is written either. Pieces of zeros become holes. Given up with
// kUnavailable when `wanted` says no.
Result<std::string> copy_hashed(int source, const std::string& path, const std::string& fresh,
                                const Snapshots::Wanted& wanted);

}  // namespace tutti
