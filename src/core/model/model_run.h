#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tutti {

// What is trained, as far as its speed depends on it: a model, its size and the batch of one
// iteration. An empty name: nothing is said of it.
struct ModelRun {
  std::string name;              // such as "bert"
  std::uint64_t parameters = 0;  // such as 1'300'000'000
  std::uint64_t batch = 0;       // samples of one iteration, over all devices
  auto operator<=>(const ModelRun&) const = default;
};

}  // namespace tutti
