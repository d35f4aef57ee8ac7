#pragma once

#include <string>

namespace tutti {

// How limits on CPU and memory are enforced on this node; for `tutti doctor` and the API's status.
struct Enforcement {
  enum class Mode { kCgroup2, kCgroup1, kWatched };
  Mode mode = Mode::kWatched;
  bool memory = true;  // enforced in one way or the other
  bool cpu = false;    // enforced
  std::string text;    // one sentence for the user
};

// "cgroup v2", "cgroup v1", "process group".
const char* enforcement_mode_name(Enforcement::Mode mode);

// Makes a control group, lets a process enter it and removes it again, to know for sure.
Enforcement detect_enforcement();

}  // namespace tutti
