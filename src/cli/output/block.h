#pragma once

#include <string>
#include <string_view>

namespace tutti {

// Lines of "  label  value", with the values in one column. A value, used once.
class Block {
 public:
  // A line for an empty value is left out.
  void add(std::string_view label, std::string_view value);
  // Lines of another block.
  void add_lines(std::string_view lines) { text_ += lines; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace tutti
