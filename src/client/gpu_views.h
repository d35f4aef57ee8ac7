#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "client/views.h"

namespace tutti {

// What the daemon says about GPUs and about what it learnt of kinds of jobs, as plain values for
// rendering. A field that an answer does not have keeps its default.

// An attempt or a lease that has a part of a GPU.
struct GpuHolderView {
  std::uint64_t job = 0;    // of an attempt
  std::int64_t task = 0;    // of an attempt
  std::uint64_t lease = 0;  // of a lease
  std::string user;
  bool measuring = false;  // alone on its GPUs, so that its need is learnt
};

// A process on a GPU that Tutti did not start.
struct ForeignView {
  std::int64_t pid = 0;
  std::string user;
  std::string command;
};

// A GPU: what it is, what it does, and who has a part of it.
struct GpuView {
  std::int64_t index = 0;
  std::string node;
  std::string name;
  std::string type;
  std::int64_t memory_mib = 0;
  std::int64_t used_mib = 0;
  std::int64_t reserved_mib = 0;
  double utilization = 0;
  bool emulated = false;
  bool healthy = true;
  std::string reason;                  // why it is not healthy
  std::vector<GpuHolderView> holders;  // attempts, then leases
  std::vector<ForeignView> foreign;
};

// The answer of GET /v1/gpus.
struct GpusView {
  std::string source;
  std::string trouble;             // why nothing can be read at present
  std::vector<std::string> notes;  // what was looked for and is not there
  std::vector<GpuView> gpus;
};

// What was measured of a kind on one type of GPU.
struct GpuProfileView {
  std::string type;
  std::uint64_t samples = 0;
  std::int64_t peak_mib = 0;
  std::int64_t need_mib = 0;  // what the next run reserves
  double utilization = 0;
  bool preallocates = false;
};

// What was measured of a kind.
struct ProfileView {
  std::string kind;
  std::uint64_t samples = 0;
  Duration p50;
  Duration p90;
  std::int64_t peak_memory_mib = 0;
  std::vector<GpuProfileView> gpus;
};

GpusView gpus_view(const boost::json::value& answer);
ProfileView profile_view(const boost::json::value& value);
// The elements of {"profiles": [...]}.
std::vector<ProfileView> profile_views(const boost::json::value& answer);

}  // namespace tutti
