#include "sim/declared_length.h"

#include <cmath>

namespace tutti {
namespace {

// A job that runs longer than was said is taken to have this part of it left.
constexpr double kOverrun = 0.1;

}  // namespace

std::optional<double> DeclaredLength::left(double total, double done) const {
  if (!factor_) return std::nullopt;
  const double said = total * *factor_;
  return said > done ? said - done : kOverrun * said;
}

DeclaredLength LengthTeller::next() {
  // Uniform on a scale of logarithms, by the bits of the generator: the same everywhere.
  const double uniform = static_cast<double>(dice_() >> 11) * 0x1.0p-53;
  switch (length_) {
    case Length::kDeclared:
      break;
    case Length::kOblivious:
      return DeclaredLength(std::nullopt);
    case Length::kNoisy:
      return DeclaredLength(std::pow(2, 2 * uniform - 1));
  }
  return DeclaredLength();
}

}  // namespace tutti
