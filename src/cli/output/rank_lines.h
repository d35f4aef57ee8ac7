#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output/screen.h"

namespace tutti {

// The output of many ranks on one screen: whole lines, each after the number of its rank, which has
// a colour of its own.
class RankLines {
 public:
  RankLines(Screen& screen, std::uint64_t ranks);
  // What is left of a line without an end is shown, too.
  ~RankLines();
  RankLines(const RankLines&) = delete;
  RankLines& operator=(const RankLines&) = delete;

  void add(std::int64_t rank, bool errors, std::string_view bytes);

 private:
  void show(std::int64_t rank, bool errors, std::string_view line);

  Screen& screen_;
  int digits_;
  std::map<std::pair<std::int64_t, bool>, std::string> begun_;  // lines without an end
};

}  // namespace tutti
