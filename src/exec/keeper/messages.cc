#include "exec/keeper/messages.h"

#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

// Stored nowhere, but spoken between programs of different age: append only.
enum class Type : std::uint8_t {
  kHello = 1,
  kContext = 2,
  kDropContext = 3,
  kStart = 4,
  kStop = 5,
  kRecall = 6,
  kAck = 7,
  kList = 8,
  kQuit = 9,
  kCleanup = 10,
  kWelcome = 64,
  kListing = 65,
  kStarted = 66,
  kEnded = 67,
  kQuitRefused = 68,
};

constexpr std::size_t kAttemptBytes = 16;

void put(Encoder& to, const AttemptId& id) {
  to.u64(id.task.job.value);
  to.u32(id.task.index);
  to.u32(id.number);
}

AttemptId take_attempt(Decoder& from) {
  AttemptId id;
  id.task.job = JobId(from.u64());
  id.task.index = from.u32();
  id.number = from.u32();
  return id;
}

void put(Encoder& to, const AttemptStarted& m) {
  put(to, m.attempt);
  to.i64(m.started_at.value);
  to.i64(m.pid);
}

AttemptStarted take_started(Decoder& from) {
  AttemptStarted m;
  m.attempt = take_attempt(from);
  m.started_at = TimePoint(from.i64());
  m.pid = from.i64();
  return m;
}

void put(Encoder& to, const AttemptEnded& m) {
  put(to, m.attempt);
  to.i64(m.started_at.value);
  to.i64(m.ended_at.value);
  to.u8(static_cast<std::uint8_t>(m.outcome.ending));
  to.u32(static_cast<std::uint32_t>(m.outcome.exit_code));
  to.u32(static_cast<std::uint32_t>(m.outcome.signal));
  to.i64(m.outcome.cpu_time.value);
  to.i64(m.outcome.peak_memory.value);
  to.text(m.outcome.message);
  to.flag(m.released);
}

Ending take_ending(Decoder& from) {
  const std::uint8_t value = from.u8();
  if (value > static_cast<std::uint8_t>(kLastEnding)) from.fail();
  return from.ok() ? static_cast<Ending>(value) : Ending::kExited;
}

AttemptEnded take_ended(Decoder& from) {
  AttemptEnded m;
  m.attempt = take_attempt(from);
  m.started_at = TimePoint(from.i64());
  m.ended_at = TimePoint(from.i64());
  m.outcome.ending = take_ending(from);
  m.outcome.exit_code = static_cast<int>(from.u32());
  m.outcome.signal = static_cast<int>(from.u32());
  m.outcome.cpu_time = Duration(from.i64());
  m.outcome.peak_memory = MiB(from.i64());
  m.outcome.message = from.text();
  m.released = from.flag();
  return m;
}

// Writes the length once the content is there.
template <typename Write>
void frame(std::string& out, Type type, Write write) {
  const std::size_t start = out.size();
  out.append(4, '\0');
  Encoder to(out);
  to.u8(static_cast<std::uint8_t>(type));
  write(to);
  const std::size_t length = out.size() - start - 4;
  TUTTI_CHECK(length <= FrameBuffer::kMaxFrame);
  for (std::size_t i = 0; i < 4; ++i) out[start + i] = static_cast<char>(length >> (8 * i));
}

ContextOrder take_context(Decoder& from) {
  ContextOrder m;
  m.job = JobId(from.u64());
  m.workdir = from.text();
  m.env = from.texts();
  m.cpus = MilliCpu(from.i64());
  m.memory = MiB(from.i64());
  m.time_limit = Duration(from.i64());
  m.grace = Duration(from.i64());
  const bool negative =
      m.cpus.value < 0 || m.memory.value < 0 || m.time_limit.value < 0 || m.grace.value < 0;
  if (negative) from.fail();
  return m;
}

StartOrder take_start(Decoder& from) {
  StartOrder m;
  m.attempt = take_attempt(from);
  m.lane = LaneId(from.u64());
  m.staged = from.flag();
  m.launch.argv = from.texts();
  m.launch.env = from.texts();
  m.launch.stdout_path = from.text();
  m.launch.stderr_path = from.text();
  m.launch.script_text = from.text();
  return m;
}

StopOrder take_stop(Decoder& from) {
  StopOrder m;
  m.attempt = take_attempt(from);
  m.cause = take_ending(from);
  return m;
}

CleanupOrder take_cleanup(Decoder& from) {
  CleanupOrder m;
  m.attempt = take_attempt(from);
  m.argv = from.texts();
  if (m.argv.empty()) from.fail();
  return m;
}

Ack take_ack(Decoder& from) {
  Ack m;
  const std::uint32_t n = from.count(kAttemptBytes);
  m.ended.reserve(n);
  for (std::uint32_t i = 0; i < n && from.ok(); ++i) m.ended.push_back(take_attempt(from));
  return m;
}

Welcome take_welcome(Decoder& from) {
  Welcome m;
  m.version = from.u32();
  m.incarnation = from.text();
  m.pid = from.i64();
  m.cgroups = from.texts();
  return m;
}

Listing take_listing(Decoder& from) {
  Listing m;
  for (std::uint32_t n = from.count(kAttemptBytes + 8); n > 0 && from.ok(); --n) {
    const AttemptId attempt = take_attempt(from);
    m.staged.push_back({attempt, LaneId(from.u64())});
  }
  for (std::uint32_t n = from.count(kAttemptBytes + 24); n > 0 && from.ok(); --n) {
    const AttemptStarted started = take_started(from);
    m.running.push_back({started, LaneId(from.u64())});
  }
  for (std::uint32_t n = from.count(kAttemptBytes + 46); n > 0 && from.ok(); --n) {
    m.ended.push_back(take_ended(from));
  }
  return m;
}

template <typename Message>
Result<Message> finish(const Decoder& from, Message message, std::uint8_t type) {
  if (!from.finished()) {
    return Error{ErrorCode::kCorrupt, "a message of type " + std::to_string(type) +
                                          " between daemon and keeper is broken"};
  }
  return Result<Message>(std::move(message));
}

}  // namespace

void append_frame(std::string& out, const Hello& m) {
  frame(out, Type::kHello, [&](Encoder& to) { to.u32(m.version); });
}

void append_frame(std::string& out, const ContextOrder& m) {
  frame(out, Type::kContext, [&](Encoder& to) {
    to.u64(m.job.value);
    to.text(m.workdir);
    to.texts(m.env);
    to.i64(m.cpus.value);
    to.i64(m.memory.value);
    to.i64(m.time_limit.value);
    to.i64(m.grace.value);
  });
}

void append_frame(std::string& out, const DropContext& m) {
  frame(out, Type::kDropContext, [&](Encoder& to) { to.u64(m.job.value); });
}

void append_frame(std::string& out, const StartOrder& m) {
  frame(out, Type::kStart, [&](Encoder& to) {
    put(to, m.attempt);
    to.u64(m.lane.value);
    to.flag(m.staged);
    to.texts(m.launch.argv);
    to.texts(m.launch.env);
    to.text(m.launch.stdout_path);
    to.text(m.launch.stderr_path);
    to.text(m.launch.script_text);
  });
}

void append_frame(std::string& out, const StopOrder& m) {
  frame(out, Type::kStop, [&](Encoder& to) {
    put(to, m.attempt);
    to.u8(static_cast<std::uint8_t>(m.cause));
  });
}

void append_frame(std::string& out, const RecallOrder& m) {
  frame(out, Type::kRecall, [&](Encoder& to) { put(to, m.attempt); });
}

void append_frame(std::string& out, const Ack& m) {
  frame(out, Type::kAck, [&](Encoder& to) {
    to.u32(static_cast<std::uint32_t>(m.ended.size()));
    for (const AttemptId& id : m.ended) put(to, id);
  });
}

void append_frame(std::string& out, const ListOrder&) {
  frame(out, Type::kList, [](Encoder&) {});
}

void append_frame(std::string& out, const Quit& m) {
  frame(out, Type::kQuit, [&](Encoder& to) { to.flag(m.forced); });
}

void append_frame(std::string& out, const CleanupOrder& m) {
  frame(out, Type::kCleanup, [&](Encoder& to) {
    put(to, m.attempt);
    to.texts(m.argv);
  });
}

void append_frame(std::string& out, const Welcome& m) {
  frame(out, Type::kWelcome, [&](Encoder& to) {
    to.u32(m.version);
    to.text(m.incarnation);
    to.i64(m.pid);
    to.texts(m.cgroups);
  });
}

void append_frame(std::string& out, const Listing& m) {
  frame(out, Type::kListing, [&](Encoder& to) {
    to.u32(static_cast<std::uint32_t>(m.staged.size()));
    for (const Listing::Staged& staged : m.staged) {
      put(to, staged.attempt);
      to.u64(staged.lane.value);
    }
    to.u32(static_cast<std::uint32_t>(m.running.size()));
    for (const Listing::Running& running : m.running) {
      put(to, running.started);
      to.u64(running.lane.value);
    }
    to.u32(static_cast<std::uint32_t>(m.ended.size()));
    for (const AttemptEnded& ended : m.ended) put(to, ended);
  });
}

void append_frame(std::string& out, const AttemptStarted& m) {
  frame(out, Type::kStarted, [&](Encoder& to) { put(to, m); });
}

void append_frame(std::string& out, const AttemptEnded& m) {
  frame(out, Type::kEnded, [&](Encoder& to) { put(to, m); });
}

void append_frame(std::string& out, const QuitRefused& m) {
  frame(out, Type::kQuitRefused, [&](Encoder& to) { to.text(m.reason); });
}

Result<ToKeeper> decode_to_keeper(const Frame& frame) {
  Decoder from(frame.payload);
  ToKeeper message;
  switch (static_cast<Type>(frame.type)) {
    case Type::kHello:
      message = Hello{from.u32()};
      break;
    case Type::kContext:
      message = take_context(from);
      break;
    case Type::kDropContext:
      message = DropContext{JobId(from.u64())};
      break;
    case Type::kStart:
      message = take_start(from);
      break;
    case Type::kStop:
      message = take_stop(from);
      break;
    case Type::kRecall:
      message = RecallOrder{take_attempt(from)};
      break;
    case Type::kAck:
      message = take_ack(from);
      break;
    case Type::kList:
      message = ListOrder{};
      break;
    case Type::kQuit:
      message = Quit{from.flag()};
      break;
    case Type::kCleanup:
      message = take_cleanup(from);
      break;
    default:
      from.fail();
  }
  return finish(from, std::move(message), frame.type);
}

Result<FromKeeper> decode_from_keeper(const Frame& frame) {
  Decoder from(frame.payload);
  FromKeeper message;
  switch (static_cast<Type>(frame.type)) {
    case Type::kWelcome:
      message = take_welcome(from);
      break;
    case Type::kListing:
      message = take_listing(from);
      break;
    case Type::kStarted:
      message = take_started(from);
      break;
    case Type::kEnded:
      message = take_ended(from);
      break;
    case Type::kQuitRefused:
      message = QuitRefused{from.text()};
      break;
    default:
      from.fail();
  }
  return finish(from, std::move(message), frame.type);
}

}  // namespace tutti
