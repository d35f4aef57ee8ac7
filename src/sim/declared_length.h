#pragma once

#include <cstdint>
#include <optional>
#include <random>

namespace tutti {

// What policies are told of how much work is left.
enum class Length : std::uint8_t {
  kDeclared,   // what is true
  kOblivious,  // nothing
  kNoisy,      // wrong by a factor between a half and two, another one for each job
};

// What was said of one job's length. A value.
class DeclaredLength {
 public:
  DeclaredLength() = default;
  // None: nothing was said. Else the length is so many times what is true.
  explicit DeclaredLength(std::optional<double> factor) : factor_(factor) {}

  // How much of `total` is left when `done` of it is done, going by what was said.
  std::optional<double> left(double total, double done) const;

 private:
  std::optional<double> factor_ = 1;
};

// Says the lengths of the jobs of one simulation, one after the other.
class LengthTeller {
 public:
  LengthTeller(Length length, std::uint64_t seed) : length_(length), dice_(seed) {}
  DeclaredLength next();

 private:
  Length length_;
  std::mt19937_64 dice_;
};

}  // namespace tutti
