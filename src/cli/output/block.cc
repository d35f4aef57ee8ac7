#include "cli/output/block.h"

#include <fmt/format.h>

namespace tutti {

void Block::add(std::string_view label, std::string_view value) {
  if (!value.empty()) text_ += fmt::format("  {:<11}{}\n", label, value);
}

}  // namespace tutti
