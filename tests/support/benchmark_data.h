#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace tutti {

inline constexpr const char* kNoBenchmarkData =
    "no benchmark data: set TUTTI_BENCHMARK_DATA to their folder";

// The folder with the data of published benchmarks, which are not part of the project: named by the
// environment, or `beside`, which tests.cmake knows.
inline std::optional<std::string> benchmark_data(const std::string& beside) {
  if (const char* named = std::getenv("TUTTI_BENCHMARK_DATA")) return named;
  std::error_code ignored;
  if (std::filesystem::is_directory(beside, ignored)) return beside;
  return std::nullopt;
}

// Tests against published results; skipped where there are none.
class BenchmarkTest : public testing::Test {
 protected:
  explicit BenchmarkTest(std::string beside) : beside_(std::move(beside)) {}

  void SetUp() override {
    const auto data = benchmark_data(beside_);
    if (!data) GTEST_SKIP() << kNoBenchmarkData;
    data_ = *data;
  }
  std::string data_;

 private:
  std::string beside_;
};

}  // namespace tutti
