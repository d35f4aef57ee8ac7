#pragma once

#include <string>

#include "base/units.h"

namespace tutti {

// What this machine has, as the local node's size.
struct Machine {
  std::string name;
  MilliCpu cpus;  // cores that this process may use
  MiB memory;     // the machine's, or this process's cgroup's if that is less
};

Machine this_machine();

}  // namespace tutti
