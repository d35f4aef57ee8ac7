#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"

namespace tutti {

// Turns the bytes of a text/event-stream into events, however the bytes are cut. Comments, ids and
// retry hints are skipped. Owned by the call that reads the stream.
class EventReader {
 public:
  // Takes more bytes and returns the events that are complete now.
  std::vector<ServerEvent> feed(std::string_view bytes);

 private:
  void take_line(std::string_view line, std::vector<ServerEvent>& out);

  std::string rest_;  // a line whose end has not come yet
  std::string name_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace tutti
