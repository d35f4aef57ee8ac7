#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tutti {

// Text from outside made safe to print on a line of its own: control characters, line ends and
// bytes that are not UTF-8 become escapes such as \n and \x1b, so that no name can drive a
// terminal.
std::string printable(std::string_view text);

// How many columns a terminal needs for printable text: wide East Asian characters and emoji two,
// combining marks none.
std::size_t columns_of(std::string_view text);

// At most that many columns of printable text; what was cut ends in an ellipsis.
std::string cut_to(std::string_view text, std::size_t columns);

// "3s", "12m", "5h", "2d": short, for the columns of a table.
std::string short_duration(Duration duration);
// "3m ago", "now", or "-" for no time.
std::string ago(TimePoint time, TimePoint now);
// "in 3m", "now" for a time to come.
std::string from_now(TimePoint time, TimePoint now);
// "1.5": a number of cores.
std::string cpus_text(double cpus);
// "1,234,567".
std::string grouped(std::uint64_t number);
// In units of a thousand, as links and disks are sold: "61 MB", "1.2 GB".
std::string bytes_text(double bytes);
// "1 task", "2 tasks".
std::string counted(std::uint64_t number, std::string_view singular);

}  // namespace tutti
