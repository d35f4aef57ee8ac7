#pragma once

#include <string>

#include "core/model/ids.h"

namespace tutti {

// Tells whoever reads the home that an attempt runs without the limits that it should have: a line
// in the keeper's log, and a file that is there until one has all of them again. Keeper thread
// only.
class LimitsNote {
 public:
  // What a former keeper wrote goes.
  explicit LimitsNote(const std::string& home);

  void missed(const AttemptId& attempt, const std::string& why);
  void held();

 private:
  std::string path_;
  JobId last_;  // zero: nothing is missing
};

// What the keeper of a home wrote; empty: nothing is known to be missing.
std::string read_limits_note(const std::string& home);

}  // namespace tutti
