#include "exec/keeper/limits_note.h"

#include <stdio.h>
#include <unistd.h>

#include "exec/keeper/folders.h"

namespace tutti {
namespace {

std::string note_path(const std::string& home) {
  return home + "/run/limits.missed";
}

}  // namespace

LimitsNote::LimitsNote(const std::string& home) : path_(note_path(home)) {
  unlink(path_.c_str());
}

void LimitsNote::missed(const AttemptId& attempt, const std::string& why) {
  // Once for a job whose tasks all fare alike: there may be a million of them.
  if (attempt.task.job == last_) return;
  last_ = attempt.task.job;
  const std::string text = "job " + std::to_string(last_.value) + ": " + why;
  fprintf(stderr, "keeper: %s\n", text.c_str());
  static_cast<void>(replace_file(path_, text, false).has_value());
}

void LimitsNote::held() {
  if (last_.value == 0) return;
  last_ = JobId();
  unlink(path_.c_str());
}

std::string read_limits_note(const std::string& home) {
  const Result<std::string> text = read_small_file(note_path(home));
  return text ? *text : std::string();
}

}  // namespace tutti
