#pragma once

#include <functional>
#include <vector>

namespace tutti {

// A function of a few variables and its gradient, which it writes to the second argument.
using SmoothFunction =
    std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

// Where the search starts and ends. Variables of which both bounds are the same stay there.
struct BoundedProblem {
  std::vector<double> start;
  std::vector<double> least;
  std::vector<double> most;  // infinity: none
  double tolerance = 1e-5;   // of the value, relative to at least 1, and of the gradient
  int most_steps = 15000;
};

// Searches a minimum within the bounds by the L-BFGS-B method (Byrd, Lu, Nocedal and Zhu 1995),
// with ten corrections: the model of the function is minimised along the projected gradient, then
// among the variables that are at no bound; a line search by Moré and Thuente (1994) does the rest.
// Made for fewer variables than a hundred: it works on whole matrices.
//
// Not from a library, because where the search stops is part of the result: the Fortran original
// brings BLAS, LAPACK and a run-time system to the start of every command, and the C++ one that
// Debian has gives up at bounds.
std::vector<double> bounded_minimum(const SmoothFunction& function, const BoundedProblem& problem);

}  // namespace tutti
