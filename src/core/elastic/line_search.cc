#include "core/elastic/line_search.h"

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

constexpr double kDecrease = 1e-3;
constexpr double kFlatness = 0.9;
constexpr double kNarrowest = 0.1;

}  // namespace

LineSearch::LineSearch(double value, double slope, double step, double longest)
    : value0_(value),
      slope0_(slope),
      longest_(longest),
      best_{0, value, slope},
      other_{0, value, slope},
      step_(step),
      longest_step_(step + 4 * step),
      width_(longest),
      width_before_(2 * longest) {}

LineSearch::State LineSearch::next(double value, double slope) {
  const double enough = kDecrease * slope0_;
  const double wanted = value0_ + step_ * enough;
  if (first_stage_ && value <= wanted && slope >= 0) first_stage_ = false;
  const bool rounding = bracketed_ && (step_ <= shortest_step_ || step_ >= longest_step_);
  const bool narrow_enough =
      bracketed_ && longest_step_ - shortest_step_ <= kNarrowest * longest_step_;
  const bool at_end = step_ == longest_ && value <= wanted && slope <= enough;
  const bool at_start = step_ == 0 && (value > wanted || slope >= enough);
  const bool converged = value <= wanted && std::abs(slope) <= kFlatness * -slope0_;
  if (converged || at_end || rounding || narrow_enough || at_start) {
    // A last step that is not good enough is taken all the same, as the original does.
    return State::kFound;
  }
  // While no step was good enough, a tilted function is looked at.
  if (first_stage_ && value <= best_.value && value > wanted) {
    const auto tilt = [&](End& end, double sign) {
      end.value += sign * end.step * enough;
      end.slope += sign * enough;
    };
    tilt(best_, -1);
    tilt(other_, -1);
    narrow(value - step_ * enough, slope - enough);
    tilt(best_, 1);
    tilt(other_, 1);
  } else {
    narrow(value, slope);
  }
  if (bracketed_) {
    if (std::abs(other_.step - best_.step) >= 0.66 * width_before_)
      step_ = best_.step + 0.5 * (other_.step - best_.step);
    width_before_ = width_;
    width_ = std::abs(other_.step - best_.step);
    shortest_step_ = std::min(best_.step, other_.step);
    longest_step_ = std::max(best_.step, other_.step);
  } else {
    shortest_step_ = step_ + 1.1 * (step_ - best_.step);
    longest_step_ = step_ + 4 * (step_ - best_.step);
  }
  step_ = std::clamp(step_, 0.0, longest_);
  const bool stuck = bracketed_ && (step_ <= shortest_step_ || step_ >= longest_step_ ||
                                    longest_step_ - shortest_step_ <= kNarrowest * longest_step_);
  if (stuck) step_ = best_.step;
  return std::isfinite(step_) ? State::kEvaluate : State::kFailed;
}

// Takes the step into the interval that holds a good one, and proposes the next by interpolation.
void LineSearch::narrow(double value, double slope) {
  const double sign = slope * (best_.slope / std::abs(best_.slope));
  const double length = step_ - best_.step;
  const double theta = 3 * (best_.value - value) / length + best_.slope + slope;
  const double scale = std::max({std::abs(theta), std::abs(best_.slope), std::abs(slope)});
  const auto root = [&](bool clamped) {
    const double square =
        (theta / scale) * (theta / scale) - (best_.slope / scale) * (slope / scale);
    return scale * std::sqrt(clamped ? std::max(0.0, square) : square);
  };
  double next = 0;
  if (value > best_.value) {
    const double gamma = root(false) * (step_ < best_.step ? -1 : 1);
    const double r = (gamma - best_.slope + theta) / (gamma - best_.slope + gamma + slope);
    const double cubic = best_.step + r * length;
    const double quadratic =
        best_.step + best_.slope / ((best_.value - value) / length + best_.slope) / 2 * length;
    next = std::abs(cubic - best_.step) < std::abs(quadratic - best_.step)
               ? cubic
               : cubic + (quadratic - cubic) / 2;
    bracketed_ = true;
  } else if (sign < 0) {
    const double gamma = root(false) * (step_ > best_.step ? -1 : 1);
    const double r = (gamma - slope + theta) / (gamma - slope + gamma + best_.slope);
    const double cubic = step_ + r * (best_.step - step_);
    const double secant = step_ + slope / (slope - best_.slope) * (best_.step - step_);
    next = std::abs(cubic - step_) > std::abs(secant - step_) ? cubic : secant;
    bracketed_ = true;
  } else if (std::abs(slope) < std::abs(best_.slope)) {
    const double gamma = root(true) * (step_ > best_.step ? -1 : 1);
    const double r = (gamma - slope + theta) / (gamma + (best_.slope - slope) + gamma);
    double cubic = step_ > best_.step ? longest_step_ : shortest_step_;
    if (r < 0 && gamma != 0) cubic = step_ + r * (best_.step - step_);
    const double secant = step_ + slope / (slope - best_.slope) * (best_.step - step_);
    if (bracketed_) {
      next = std::abs(cubic - step_) < std::abs(secant - step_) ? cubic : secant;
      const double limit = step_ + 0.66 * (other_.step - step_);
      next = step_ > best_.step ? std::min(limit, next) : std::max(limit, next);
    } else {
      next = std::abs(cubic - step_) > std::abs(secant - step_) ? cubic : secant;
      next = std::clamp(next, shortest_step_, longest_step_);
    }
  } else if (bracketed_) {
    const double t = 3 * (value - other_.value) / (other_.step - step_) + other_.slope + slope;
    const double s = std::max({std::abs(t), std::abs(other_.slope), std::abs(slope)});
    const double gamma = s * std::sqrt((t / s) * (t / s) - (other_.slope / s) * (slope / s)) *
                         (step_ > other_.step ? -1 : 1);
    const double r = (gamma - slope + t) / (gamma - slope + gamma + other_.slope);
    next = step_ + r * (other_.step - step_);
  } else {
    next = step_ > best_.step ? longest_step_ : shortest_step_;
  }
  if (value > best_.value) {
    other_ = {step_, value, slope};
  } else {
    if (sign < 0) other_ = best_;
    best_ = {step_, value, slope};
  }
  step_ = next;
}

}  // namespace tutti
