#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"

namespace tutti {

// Reads all lines of a trace; returns how many jobs there were before an error, if there was one.
// Invariants: an error has a place; a job has exactly one run time that is not negative, and a
// size.
template <typename Reader>
std::size_t read_all(std::string_view text, std::string& error) {
  Reader reader("f");
  std::size_t jobs = 0;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto job = reader.read(text.substr(0, end), number);
    if (!job) {
      error = job.error().message;
      TUTTI_CHECK(error.starts_with("f:" + std::to_string(number) + ": "));
      TUTTI_CHECK(error.find('\n') == std::string::npos);
      return jobs;
    }
    if (*job) {
      ++jobs;
      TUTTI_CHECK((*job)->runs.size() == 1 && (*job)->runs[0].value >= 0);
      TUTTI_CHECK((*job)->submit.value >= 0 && (*job)->deadline.value >= 0);
      TUTTI_CHECK((*job)->spec.request.cpus.value > 0);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  static_cast<void>(reader.cluster());
  static_cast<void>(reader.left_out());
  return jobs;
}

// The answer depends on the text alone.
template <typename Reader>
void fuzz_trace(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string first;
  std::string second;
  TUTTI_CHECK(read_all<Reader>(text, first) == read_all<Reader>(text, second));
  TUTTI_CHECK(first == second);
}

}  // namespace tutti
