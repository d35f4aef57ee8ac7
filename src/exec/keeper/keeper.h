#pragma once

#include <string>

namespace tutti {

// How a keeper is started.
struct KeeperOptions {
  std::string home;  // Tutti's folder; the socket is run/keeper.sock below it
};

// The keeper: the small process that starts, ends and reaps the attempts of this machine and keeps
// their results until a daemon has them on disk. Returns the process's exit status when nothing is
// left to keep. Takes over the whole process: its descriptors, signals and limits.
int keeper_main(const KeeperOptions& options);

}  // namespace tutti
