#pragma once

#include <string>

#include "base/units.h"
#include "cli/output/screen.h"
#include "client/views.h"

namespace tutti {

// One line that shows how far a job of many tasks is, exactly `width` columns or less:
// "[=====>    ]  512/1,000  2 failed  3 running  1m 20s, 45s left".
std::string progress_line(const JobView& job, TimePoint now, int width);

// The one-line summary of a job that has ended: "1,000 tasks: 998 succeeded, 2 failed (12.3s)".
std::string progress_summary(const JobView& job);

// Draws progress_line over itself on a terminal's stderr; silent elsewhere. Owned by one verb.
class ProgressBar {
 public:
  explicit ProgressBar(Screen& screen) : screen_(screen) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const std::string& line);
  void show(const JobView& job, TimePoint now) { show(progress_line(job, now, screen_.width())); }
  // Takes the line away, so that other text can be printed.
  void clear();

 private:
  Screen& screen_;
  bool drawn_ = false;
};

}  // namespace tutti
