#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti::emulator {

// The words of a command line that are still to be read. Used by one thread.
class Arguments {
 public:
  explicit Arguments(std::span<char*> words) : words_(words) {}

  bool empty() const { return words_.empty(); }
  std::string_view next();

  // The word after the option `option`.
  Result<std::string_view> value_of(std::string_view option);

 private:
  std::span<char*> words_;
};

// "10G", "1.5GiB", "512M" in bytes.
Result<std::uint64_t> parse_bytes(std::string_view option, std::string_view text);

// A decimal number from `least` to `most`.
Result<double> parse_number(std::string_view option, std::string_view text, double least,
                            double most);

// A whole number from `least` to `most`.
Result<int> parse_whole(std::string_view option, std::string_view text, int least, int most);

}  // namespace tutti::emulator
