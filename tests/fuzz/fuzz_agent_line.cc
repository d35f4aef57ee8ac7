// What a host's agent says. Invariants: a line is read or refused with an error of one kind;
// numbers that are read are not negative; attempts are written and read again as themselves.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "exec/ssh/message.h"

namespace {

using namespace tutti;

void check(const AgentEnd& end) {
  TUTTI_CHECK(end.status >= 0 && end.status <= 255);
  TUTTI_CHECK(end.ran.value >= 0 && end.cpu_time.value >= 0);
}

void check(AttemptId attempt) {
  const auto again = parse_agent_line("B " + attempt_key(attempt) + " 1");
  TUTTI_CHECK(again && std::get<AgentBegun>(*again).attempt == attempt);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message =
      parse_agent_line(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!message) {
    TUTTI_CHECK(message.error().code == ErrorCode::kCorrupt);
    return 0;
  }
  if (const auto* begun = std::get_if<AgentBegun>(&*message)) check(begun->attempt);
  if (const auto* ended = std::get_if<AgentEnded>(&*message)) {
    check(ended->attempt);
    check(ended->end);
  }
  if (const auto* listed = std::get_if<AgentListed>(&*message)) check(listed->end);
  if (const auto* load = std::get_if<AgentLoad>(&*message))
    TUTTI_CHECK(load->cpus.value >= 0 && load->busy.value >= 0 && load->memory.value >= 0);
  return 0;
}
