#include "store/event_codec.h"

#include <bit>
#include <cmath>
#include <utility>

#include "store/fields.h"

namespace tutti {
namespace {

template <typename Wanted, typename Record>
constexpr bool is = std::is_same_v<std::remove_cvref_t<Record>, Wanted>;

void wish_fields(auto& codec, auto& wish) {
  codec.number(wish.job);
  codec.list(wish.tasks, [&](auto& task) { codec.number(task); });
}

void attempt_event_fields(auto& codec, auto& body) {
  using Body = decltype(body);
  fields(codec, body.attempt);
  if constexpr (is<AttemptPlaced, Body>) {
    codec.number(body.lane);
    codec.flag(body.staged);
    fields(codec, body.allocation);
  } else if constexpr (is<AttemptStarted, Body>) {
    codec.number(body.started_at);
    codec.number(body.pid);
    if (codec.since(2)) codec.number(body.pid_birth);
  } else if constexpr (is<StopOrdered, Body>) {
    codec.choice(body.cause, kLastEnding);
  } else if constexpr (is<AttemptMeasured, Body>) {
    codec.number(body.device);
    codec.number(body.memory);
  } else {
    static_assert(is<AttemptEnded, Body>);
    codec.number(body.started_at);
    codec.number(body.ended_at);
    fields(codec, body.outcome);
    codec.flag(body.released);
  }
}

// The bits of the seconds, so that they come back as they were.
void optional_speed(FieldWriter& writer, const std::optional<Speed>& speed) {
  writer.flag(speed.has_value());
  if (speed) writer.number(std::bit_cast<std::uint64_t>(speed->seconds));
}

void optional_speed(FieldReader& reader, std::optional<Speed>& speed) {
  bool known = false;
  std::uint64_t bits = 0;
  reader.flag(known);
  if (!known) return;
  reader.number(bits);
  speed = Speed{std::bit_cast<double>(bits)};
  // No number of seconds is negative, endless or none at all; and zero has one encoding.
  if (!std::isfinite(speed->seconds) || std::signbit(speed->seconds)) reader.fail();
}

void profile_changed_fields(FieldWriter& writer, const ProfileChanged& body) {
  writer.text(body.kind);
  writer.flag(body.profile.has_value());
  if (body.profile) write_profile(writer, *body.profile);
}

void profile_changed_fields(FieldReader& reader, ProfileChanged& body) {
  bool known = false;
  reader.text(body.kind);
  reader.flag(known);
  if (known) read_profile(reader, body.profile.emplace());
}

void speeds_changed_fields(auto& codec, auto& body) {
  codec.list(body.changes, [&](auto& change) {
    cell_fields(codec, change.cell);
    optional_speed(codec, change.speed);
  });
}

void event_fields(auto& codec, auto& body) {
  using Body = decltype(body);
  if constexpr (is<JobSubmitted, Body>) {
    fields(codec, body.facts);
  } else if constexpr (is<CancelRequested, Body> || is<RetryRequested, Body>) {
    wish_fields(codec, body);
  } else if constexpr (is<NodeChanged, Body>) {
    fields(codec, body.node);
  } else if constexpr (is<NodeStateChanged, Body>) {
    codec.number(body.node);
    codec.choice(body.state, Node::State::kGone);
    codec.text(body.reason);
  } else if constexpr (is<ProfileChanged, Body>) {
    profile_changed_fields(codec, body);
  } else if constexpr (is<SpeedsChanged, Body>) {
    speeds_changed_fields(codec, body);
  } else {
    attempt_event_fields(codec, body);
  }
}

template <std::size_t... kKinds>
EventBody blank_body(std::int64_t kind, std::index_sequence<kKinds...>) {
  EventBody body;
  ((kind == static_cast<std::int64_t>(kKinds) ? void(body.emplace<kKinds>()) : void()), ...);
  return body;
}

Error corrupt_event(std::string what) {
  return {ErrorCode::kCorrupt, "journal: " + std::move(what)};
}

void free_all(Node& node) {
  node.free_cpus = node.cpus;
  node.free_memory = node.memory;
}

}  // namespace

EncodedEvent encode(const Event& event, std::string& buffer) {
  buffer.assign(1, static_cast<char>(kEventVersion));
  FieldWriter writer(buffer);
  std::visit([&](const auto& body) { event_fields(writer, body); }, event.body);
  return {event.at.value, static_cast<std::int64_t>(event.body.index()), buffer};
}

Result<Event> decode(const EncodedEvent& encoded) {
  constexpr auto kKinds = std::variant_size_v<EventBody>;
  if (encoded.kind < 0 || encoded.kind >= static_cast<std::int64_t>(kKinds))
    return corrupt_event("event of unknown kind " + std::to_string(encoded.kind));
  if (encoded.body.empty() || encoded.body[0] == 0) return corrupt_event("event without a version");
  const auto version = static_cast<std::uint8_t>(encoded.body[0]);
  if (version > kEventVersion)
    return Error{ErrorCode::kUnsupported, "journal: event of version " + std::to_string(version) +
                                              ", this tutti knows " +
                                              std::to_string(kEventVersion) + ": upgrade tutti"};

  Event event{TimePoint(encoded.at), blank_body(encoded.kind, std::make_index_sequence<kKinds>())};
  FieldReader reader(encoded.body.substr(1), version);
  std::visit([&](auto& body) { event_fields(reader, body); }, event.body);
  if (!reader.complete())
    return corrupt_event(std::string("malformed ") + event_name(event.body) + " event");
  if (auto* changed = std::get_if<NodeChanged>(&event.body)) free_all(changed->node);
  return event;
}

}  // namespace tutti
