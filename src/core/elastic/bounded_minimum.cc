#include "core/elastic/bounded_minimum.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "core/elastic/line_search.h"

namespace tutti {
namespace {

constexpr std::size_t kCorrections = 10;
constexpr int kMostTrials = 20;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A symmetric matrix, all of it.
class Matrix {
 public:
  Matrix(std::size_t size, double diagonal) : size_(size), cells_(size * size, 0) {
    for (std::size_t i = 0; i < size; ++i) at(i, i) = diagonal;
  }
  double& at(std::size_t i, std::size_t j) { return cells_[i * size_ + j]; }
  double at(std::size_t i, std::size_t j) const { return cells_[i * size_ + j]; }
  Vector times(const Vector& x) const {
    Vector product(size_, 0);
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) product[i] += at(i, j) * x[j];
    }
    return product;
  }

 private:
  std::size_t size_;
  Vector cells_;
};

// Solves the part of a positive definite system that belongs to some of the variables; none: it is
// not positive definite.
std::optional<Vector> solve(const Matrix& matrix, const std::vector<std::size_t>& free,
                            Vector right) {
  const std::size_t n = free.size();
  std::vector<Vector> low(n, Vector(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix.at(free[i], free[j]);
      for (std::size_t k = 0; k < j; ++k) sum -= low[i][k] * low[j][k];
      if (i == j && sum <= 0) return std::nullopt;
      low[i][j] = i == j ? std::sqrt(sum) : sum / low[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= low[i][k] * right[k];
    right[i] /= low[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= low[k][i] * right[k];
    right[i] /= low[i][i];
  }
  return right;
}

class Search {
 public:
  Search(const SmoothFunction& function, const BoundedProblem& problem)
      : function_(function), problem_(problem), x_(problem.start), gradient_(x_.size()) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = within(i, x_[i]);
  }

  Vector run() {
    value_ = function_(x_, gradient_);
    for (int step = 0; step < problem_.most_steps; ++step) {
      if (projected_gradient() <= problem_.tolerance) break;
      const Matrix model = curvature();
      Vector target = cauchy_point(model);
      if (!pairs_.empty()) improve_free(model, target);
      const double before = value_;
      if (!go_to(target, step == 0)) {
        if (pairs_.empty()) break;
        pairs_.clear();
        continue;
      }
      const double scale = std::max({std::abs(before), std::abs(value_), 1.0});
      if (before - value_ <= problem_.tolerance * scale) break;
    }
    return x_;
  }

 private:
  double within(std::size_t i, double value) const {
    return std::min(std::max(value, problem_.least[i]), problem_.most[i]);
  }

  double projected_gradient() const {
    double most = 0;
    for (std::size_t i = 0; i < x_.size(); ++i)
      most = std::max(most, std::abs(within(i, x_[i] - gradient_[i]) - x_[i]));
    return most;
  }

  // What the steps and the changes of the gradient on them tell of the second derivatives.
  Matrix curvature() const {
    const std::size_t n = x_.size();
    if (pairs_.empty()) return Matrix(n, 1);
    const auto& [last_step, last_change] = pairs_.back();
    Matrix b(n, dot(last_change, last_change) / dot(last_step, last_change));
    for (const auto& [step, change] : pairs_) {
      const Vector bs = b.times(step);
      const double sbs = dot(step, bs);
      const double ys = dot(change, step);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j)
          b.at(i, j) += change[i] * change[j] / ys - bs[i] * bs[j] / sbs;
      }
    }
    return b;
  }

  // The first minimum of the model on the path of steepest descent, bent at the bounds.
  Vector cauchy_point(const Matrix& model) const {
    const std::size_t n = x_.size();
    Vector direction(n);
    std::vector<std::pair<double, std::size_t>> bends;
    for (std::size_t i = 0; i < n; ++i) {
      const double g = gradient_[i];
      double bend = std::numeric_limits<double>::infinity();
      if (g < 0) bend = (x_[i] - problem_.most[i]) / g;
      if (g > 0) bend = (x_[i] - problem_.least[i]) / g;
      direction[i] = bend > 0 ? -g : 0;
      if (bend > 0 && g != 0) bends.emplace_back(bend, i);
    }
    std::sort(bends.begin(), bends.end());
    Vector point = x_;
    double at = 0;
    for (std::size_t next = 0;; ++next) {
      Vector moved(n);
      for (std::size_t i = 0; i < n; ++i) moved[i] = point[i] - x_[i];
      const double slope = dot(gradient_, direction) + dot(direction, model.times(moved));
      const double bent = dot(direction, model.times(direction));
      if (bent <= 0 || slope >= 0) return point;
      const double best = -slope / bent;
      const double until =
          next < bends.size() ? bends[next].first - at : std::numeric_limits<double>::infinity();
      const double length = std::min(best, until);
      for (std::size_t i = 0; i < n; ++i) point[i] += length * direction[i];
      if (best < until) return point;
      const std::size_t stopped = bends[next].second;
      point[stopped] = direction[stopped] > 0 ? problem_.most[stopped] : problem_.least[stopped];
      direction[stopped] = 0;
      at = bends[next].first;
    }
  }

  // Minimises the model among the variables that are at no bound.
  void improve_free(const Matrix& model, Vector& point) const {
    std::vector<std::size_t> free;
    Vector moved(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      moved[i] = point[i] - x_[i];
      if (point[i] > problem_.least[i] && point[i] < problem_.most[i]) free.push_back(i);
    }
    if (free.empty()) return;
    const Vector slopes = model.times(moved);
    Vector right;
    for (const std::size_t i : free) right.push_back(-(gradient_[i] + slopes[i]));
    const std::optional<Vector> step = solve(model, free, std::move(right));
    if (!step) return;
    Vector projected = point;
    double downhill = 0;
    double part = 1;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const std::size_t i = free[k];
      const double d = (*step)[k];
      projected[i] = within(i, point[i] + d);
      if (d < 0) part = std::min(part, (problem_.least[i] - point[i]) / d);
      if (d > 0) part = std::min(part, (problem_.most[i] - point[i]) / d);
    }
    for (std::size_t i = 0; i < x_.size(); ++i) downhill += (projected[i] - x_[i]) * gradient_[i];
    if (downhill <= 0) {
      point = std::move(projected);
      return;
    }
    for (std::size_t k = 0; k < free.size(); ++k)
      point[free[k]] = within(free[k], point[free[k]] + part * (*step)[k]);
  }

  double longest_step(const Vector& direction) const {
    double longest = 1e10;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double d = direction[i];
      const double room = d < 0 ? problem_.least[i] - x_[i] : problem_.most[i] - x_[i];
      if (d == 0) continue;
      if ((d < 0 && room >= 0) || (d > 0 && room <= 0)) {
        longest = 0;
      } else if (d * longest / room > 1) {
        longest = room / d;
      }
    }
    return longest;
  }

  // Goes towards the point as far as it pays. False: nowhere.
  bool go_to(const Vector& target, bool first) {
    const std::size_t n = x_.size();
    Vector direction(n);
    for (std::size_t i = 0; i < n; ++i) direction[i] = target[i] - x_[i];
    const double longest = first ? 1 : longest_step(direction);
    const double length = std::sqrt(dot(direction, direction));
    const double slope = dot(gradient_, direction);
    if (slope >= 0 || length == 0) return false;
    const Vector x0 = x_;
    const Vector gradient0 = gradient_;
    const double value0 = value_;
    LineSearch line(value_, slope, first ? std::min(1 / length, longest) : std::min(1.0, longest),
                    longest);
    double slope_there = slope;
    for (int trial = 0;; ++trial) {
      const double step = line.step();
      for (std::size_t i = 0; i < n; ++i)
        x_[i] = step == 1 ? target[i] : x0[i] + step * direction[i];
      value_ = function_(x_, gradient_);
      slope_there = dot(gradient_, direction);
      const LineSearch::State state = line.next(value_, slope_there);
      if (state == LineSearch::State::kFound) break;
      if (state == LineSearch::State::kFailed || trial == kMostTrials) {
        x_ = x0;
        gradient_ = gradient0;
        value_ = value0;
        return false;
      }
    }
    remember(x0, gradient0, (slope_there - slope), -slope);
    return true;
  }

  void remember(const Vector& x0, const Vector& gradient0, double curved, double fell) {
    if (curved <= kEpsilon * fell) return;
    Vector step(x_.size());
    Vector change(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      step[i] = x_[i] - x0[i];
      change[i] = gradient_[i] - gradient0[i];
    }
    pairs_.emplace_back(std::move(step), std::move(change));
    if (pairs_.size() > kCorrections) pairs_.pop_front();
  }

  const SmoothFunction& function_;
  const BoundedProblem& problem_;
  Vector x_;
  Vector gradient_;
  double value_ = 0;
  std::deque<std::pair<Vector, Vector>> pairs_;
};

}  // namespace

std::vector<double> bounded_minimum(const SmoothFunction& function, const BoundedProblem& problem) {
  return Search(function, problem).run();
}

}  // namespace tutti
