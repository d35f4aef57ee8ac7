#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/client.h"

namespace tutti {

// A file whose content a daemon is asked to keep. The status was taken before anything was read.
struct FileToKeep {
  std::string path;  // absolute
  struct stat status {};
};

// Which content of a file is kept: the one that was seen, or the one that is found.
enum class KeptAs { kSeen, kFound };

// Lets a daemon on this machine read files itself, many with one request: their content is neither
// sent nor hashed here. Returns the digests in the same order; empty for a file that the daemon
// does not find as it was seen, because it is elsewhere or the file has changed (kFound: only
// because it is elsewhere, or the file was replaced). `step` is told how
// many were asked for.
Result<std::vector<std::string>> keep_files(Client& client, const std::vector<FileToKeep>& files,
                                            const std::function<void(std::size_t)>& step,
                                            KeptAs as = KeptAs::kSeen);

}  // namespace tutti
