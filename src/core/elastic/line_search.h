#pragma once

namespace tutti {

// Looks for a step along a line on which a function decreases enough and its slope has become flat
// enough (Moré and Thuente 1994). The caller evaluates the function where it is told to. One use,
// one thread.
class LineSearch {
 public:
  enum class State { kEvaluate, kFound, kFailed };

  // The value and slope at zero, and the first step to try.
  LineSearch(double value, double slope, double step, double longest);

  double step() const { return step_; }
  // Takes the value and slope at step(); kEvaluate: there is another step to try.
  State next(double value, double slope);

 private:
  struct End {
    double step = 0;
    double value = 0;
    double slope = 0;
  };
  void narrow(double value, double slope);

  const double value0_;
  const double slope0_;
  const double longest_;
  End best_;
  End other_;
  double step_;
  double shortest_step_ = 0;
  double longest_step_;
  double width_;
  double width_before_;
  bool bracketed_ = false;
  bool first_stage_ = true;
};

}  // namespace tutti
