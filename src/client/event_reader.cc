#include "client/event_reader.h"

namespace tutti {

std::vector<ServerEvent> EventReader::feed(std::string_view bytes) {
  std::vector<ServerEvent> out;
  while (true) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) {
      rest_ += bytes;
      return out;
    }
    if (rest_.empty()) {
      take_line(bytes.substr(0, end), out);
    } else {
      rest_ += bytes.substr(0, end);
      const std::string line = std::move(rest_);
      rest_.clear();
      take_line(line, out);
    }
    bytes.remove_prefix(end + 1);
  }
}

void EventReader::take_line(std::string_view line, std::vector<ServerEvent>& out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    if (has_data_) out.push_back({name_.empty() ? "message" : name_, data_});
    name_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  const auto colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    name_ = value;
  } else if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
}

}  // namespace tutti
