#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

// A normal distribution: what a fit says of a value.
struct Guess {
  double mean = 0;
  double deviation = 0;
};

// Regression with a Gaussian process: values at points of which only the covariance matters. The
// prior mean is zero. Exact: cubic in the number of points.
class GaussianFit {
 public:
  // `covariance` is symmetric, by rows, and has the noise of measurements on its diagonal.
  GaussianFit(std::vector<double> covariance, std::span<const double> values);

  // The value at a point with these covariances to the others and this variance of its own.
  Guess at(std::span<const double> covariances, double variance) const;
  // What the other points say of each point: nobody is his own witness.
  std::vector<Guess> leave_one_out() const;

 private:
  double factor(std::size_t row, std::size_t column) const { return factor_[row * size_ + column]; }
  void factorise();
  // Solves L x = b in place.
  void forward(std::vector<double>& x) const;
  void backward(std::vector<double>& x) const;

  std::size_t size_;
  std::vector<double> factor_;  // the lower triangle of Cholesky's decomposition
  std::vector<double> values_;
  std::vector<double> weights_;  // the covariance's inverse times the values
};

}  // namespace tutti
