#include "core/speed/gaussian_fit.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tutti {

GaussianFit::GaussianFit(std::vector<double> covariance, std::span<const double> values)
    : size_(values.size()),
      factor_(std::move(covariance)),
      values_(values.begin(), values.end()),
      weights_(values.begin(), values.end()) {
  TUTTI_CHECK(factor_.size() == size_ * size_);
  factorise();
  forward(weights_);
  backward(weights_);
}

void GaussianFit::factorise() {
  for (std::size_t row = 0; row < size_; ++row) {
    double* const mine = &factor_[row * size_];
    for (std::size_t column = 0; column <= row; ++column) {
      const double* const other = &factor_[column * size_];
      double sum = mine[column];
      for (std::size_t k = 0; k < column; ++k) sum -= mine[k] * other[k];
      if (column < row) {
        mine[column] = sum / other[column];
        continue;
      }
      // Noise on the diagonal makes it positive; rounding cannot take all of it.
      TUTTI_CHECK(sum > 0);
      mine[row] = std::sqrt(sum);
    }
  }
}

void GaussianFit::forward(std::vector<double>& x) const {
  for (std::size_t row = 0; row < size_; ++row) {
    double sum = x[row];
    for (std::size_t k = 0; k < row; ++k) sum -= factor(row, k) * x[k];
    x[row] = sum / factor(row, row);
  }
}

void GaussianFit::backward(std::vector<double>& x) const {
  for (std::size_t row = size_; row-- > 0;) {
    x[row] /= factor(row, row);
    for (std::size_t k = 0; k < row; ++k) x[k] -= factor(row, k) * x[row];
  }
}

Guess GaussianFit::at(std::span<const double> covariances, double variance) const {
  TUTTI_CHECK(covariances.size() == size_);
  Guess guess;
  for (std::size_t i = 0; i < size_; ++i) guess.mean += covariances[i] * weights_[i];
  std::vector<double> part(covariances.begin(), covariances.end());
  forward(part);
  for (const double one : part) variance -= one * one;
  guess.deviation = std::sqrt(std::max(variance, 0.0));
  return guess;
}

std::vector<Guess> GaussianFit::leave_one_out() const {
  std::vector<Guess> guesses(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    // The i-th element of the inverse's diagonal is the squared length of L's i-th solved column.
    std::vector<double> column(size_);
    column[i] = 1;
    double precision = 0;
    for (std::size_t row = i; row < size_; ++row) {
      double sum = column[row];
      for (std::size_t k = i; k < row; ++k) sum -= factor(row, k) * column[k];
      column[row] = sum / factor(row, row);
      precision += column[row] * column[row];
    }
    guesses[i] = {values_[i] - weights_[i] / precision, std::sqrt(1 / precision)};
  }
  return guesses;
}

}  // namespace tutti
