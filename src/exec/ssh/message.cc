#include "exec/ssh/message.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace tutti {
namespace {

// Takes words from the front of a line. After a word that was not what it should be, fails.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  bool ok() const { return ok_; }
  bool complete() const { return ok_ && rest_.empty(); }
  void fail() { ok_ = false; }

  std::string_view word() {
    const std::size_t blank = std::min(rest_.find(' '), rest_.size());
    const std::string_view taken = rest_.substr(0, blank);
    if (taken.empty()) ok_ = false;
    rest_.remove_prefix(std::min(blank + 1, rest_.size()));
    return taken;
  }
  // Whether the line goes on with `text`, which is then taken.
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string rest() { return std::string(std::exchange(rest_, {})); }

  template <typename Number>
  Number number(Number most = std::numeric_limits<Number>::max()) {
    return parse<Number>(word(), most);
  }
  bool flag() { return number<int>(1) == 1; }

  AttemptId attempt() {
    const std::string_view key = word();
    const std::size_t first = key.find('.');
    const std::size_t last = key.rfind('.');
    if (first == key.npos || first == last) {
      ok_ = false;
      return {};
    }
    return {{JobId(parse<std::uint64_t>(key.substr(0, first))),
             parse<std::uint32_t>(key.substr(first + 1, last - first - 1))},
            parse<std::uint32_t>(key.substr(last + 1))};
  }

 private:
  template <typename Number>
  Number parse(std::string_view text, Number most = std::numeric_limits<Number>::max()) {
    Number value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = failed == std::errc() && end == text.data() + text.size();
    if (read && value >= 0 && value <= most) return value;
    ok_ = false;
    return Number{};
  }

  std::string_view rest_;
  bool ok_ = true;
};

constexpr std::int64_t kMostMilliseconds = std::int64_t{1} << 50;

AgentEnd read_end(Words& words) {
  AgentEnd end;
  end.status = words.number<int>(255);
  end.ran = milliseconds(words.number(kMostMilliseconds));
  end.cpu_time = milliseconds(words.number(kMostMilliseconds));
  const std::string_view flags = words.word();
  if (flags == "-") return end;
  for (const char flag : flags) {
    switch (flag) {
      case 'o':
        end.has_output = true;
        break;
      case 'e':
        end.has_errors = true;
        break;
      case 't':
        end.over_time = true;
        break;
      case 's':
        end.stopped = true;
        break;
      default:
        words.fail();
    }
  }
  return end;
}

AgentHello read_hello(Words& words) {
  AgentHello hello;
  if (words.number<int>() != 1) words.fail();  // the protocol's version
  words.number<std::uint32_t>();               // the user's number there
  hello.boot_id = words.word();
  words.flag();
  words.flag();
  hello.has_rsync = words.flag();
  hello.knows_holes = words.flag();
  hello.client = words.word();
  if (hello.client == "-") hello.client.clear();
  hello.address = words.word();
  if (hello.address == "-") hello.address.clear();
  hello.root = words.rest();
  if (!hello.root.starts_with('/')) words.fail();
  return hello;
}

AgentListed read_listed(Words& words) {
  AgentListed listed;
  listed.attempt = words.attempt();
  const std::string_view state = words.word();
  if (state == "running") {
    listed.state = AgentListed::State::kRunning;
    listed.pid = words.number<std::int64_t>();
  } else if (state == "ended") {
    listed.state = AgentListed::State::kEnded;
    listed.end = read_end(words);
  } else if (state != "gone") {
    words.fail();
  }
  return listed;
}

AgentLoad read_load(Words& words) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  AgentLoad load;
  load.cpus = MilliCpu(words.number(std::int64_t{1} << 20) * 1000);
  load.busy = MilliCpu(words.number(kMost));
  load.memory = MiB(words.number(kMost) / 1024);
  load.available = MiB(words.number(kMost) / 1024);
  return load;
}

AgentGpuLine read_gpu_line(Words& words) {
  AgentGpuLine line;
  const std::string_view kind = words.word();
  if (kind == "gpu") {
    line.kind = AgentGpuLine::Kind::kGpu;
    line.text = words.rest();
  } else if (kind == "card") {
    line.kind = AgentGpuLine::Kind::kCard;
    line.text = words.rest();
  } else if (kind == "app" || kind == "kfd") {
    line.kind = kind == "app" ? AgentGpuLine::Kind::kProcess : AgentGpuLine::Kind::kCardProcess;
    line.session = words.number<std::int64_t>();
    line.text = words.rest();
  } else if (kind == "none") {
    line.status = words.number<int>(255);
  } else {
    words.fail();
  }
  return line;
}

std::optional<AgentMessage> read_message(char kind, Words& words) {
  switch (kind) {
    case 'H':
      return read_hello(words);
    case 'A':
      return read_listed(words);
    case 'Z':
      return AgentListEnd{};
    case 'B': {
      const AttemptId attempt = words.attempt();
      return AgentBegun{attempt, words.number<std::int64_t>()};
    }
    case 'Y':
      return AgentReady{words.attempt()};
    case 'E': {
      const AttemptId attempt = words.attempt();
      return AgentEnded{attempt, read_end(words)};
    }
    case 'X': {
      if (words.skip("- ")) return AgentUnusable{words.rest()};
      const AttemptId attempt = words.attempt();
      return AgentRefused{attempt, words.rest()};
    }
    case 'P':
      return read_load(words);
    case 'G':
      return read_gpu_line(words);
    case 'S':
      return AgentProbeEnd{};
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<AgentMessage> parse_agent_line(std::string_view line) {
  const Error corrupt{ErrorCode::kCorrupt, "the host's shell wrote something unexpected: '" +
                                               std::string(line.substr(0, 80)) + "'"};
  Words words(line);
  const std::string_view kind = words.word();
  if (kind.size() != 1) return corrupt;
  std::optional<AgentMessage> message = read_message(kind[0], words);
  if (!message || !words.complete()) return corrupt;
  return *std::move(message);
}

std::string attempt_key(AttemptId attempt) {
  return std::to_string(attempt.task.job.value) + "." + std::to_string(attempt.task.index) + "." +
         std::to_string(attempt.number);
}

}  // namespace tutti
