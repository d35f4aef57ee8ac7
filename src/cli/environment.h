#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// An environment, as "NAME=value", each name once. A value.
class Environment {
 public:
  // The caller's: all of it, or with `clean` only what a command needs to find its way; and its
  // umask.
  static Environment of_process(bool clean);

  // Sets "NAME=value"; "NAME" alone takes the caller's value of that variable.
  Result<void> apply(std::string_view setting);

  const std::vector<std::string>& variables() const { return variables_; }

 private:
  void set(std::string_view name, std::string variable);

  std::vector<std::string> variables_;
};

// The name of "NAME=value".
std::string_view variable_name(std::string_view variable);

}  // namespace tutti
