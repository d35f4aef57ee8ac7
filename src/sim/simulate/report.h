#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/results.h"

namespace tutti {

// A run of a report. Refers to what the caller has.
struct ReportRun {
  const RunResult* run = nullptr;
  const Summary* summary = nullptr;
};

// Writes one page about the runs: who had which device when, the queue, distributions, every job.
// The page needs nothing but itself.
Result<void> write_report(const std::string& path, const std::vector<ReportRun>& runs);

// What the page is given, as JSON that may stand in a script element.
std::string report_data(const std::vector<ReportRun>& runs);

// The page without its data (report.html, built in).
extern const char kReportPage[];

}  // namespace tutti
