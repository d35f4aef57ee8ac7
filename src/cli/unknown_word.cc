#include "cli/unknown_word.h"

#include <fmt/format.h>

#include <string>

#include "base/nearest.h"
#include "core/spec/text.h"

namespace tutti {

Error unknown_word(std::string_view what, std::string_view word,
                   std::span<const std::string_view> known) {
  std::string more = did_you_mean(word, known);
  if (more.empty()) more = fmt::format("; there are: {}", fmt::join(known, ", "));
  return invalid_input(fmt::format("unknown {} {}{}", what, shown(word), more));
}

}  // namespace tutti
