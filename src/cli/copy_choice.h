#pragma once

#include "cli/arguments.h"

namespace tutti {

// Whether the work directory is to be copied, from all places where options may stand.
struct CopyChoice {
  bool snapshot = false;
  bool on = false;
  bool no_copy = false;

  void add(const Arguments& arguments) {
    snapshot = snapshot || arguments.has("snapshot");
    on = on || arguments.has("on");
    no_copy = no_copy || arguments.has("no-copy");
  }
  bool wanted() const { return snapshot || (on && !no_copy); }
};

}  // namespace tutti
