// Traces of the format philly: whatever the lines, jobs or an error with a place.

#include "line_trace.h"
#include "sim/workload/philly.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::fuzz_trace<tutti::PhillyReader>(data, size);
  return 0;
}
