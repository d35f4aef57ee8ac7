#include <array>
#include <boost/json.hpp>
#include <mutex>

#include "api/call.h"
#include "api/streams.h"
#include "control/lease_desk.h"
#include "core/spec/field.h"
#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// A field of the request and the job field that takes its text.
struct LeaseField {
  std::string_view name;
  std::string_view field;
};
constexpr std::array<LeaseField, 9> kFields = {{{"kind", "kind"},
                                                {"name", "name"},
                                                {"project", "project"},
                                                {"priority", "priority"},
                                                {"gpu_mem", "gpu_mem"},
                                                {"gpu_util", "gpu_util"},
                                                {"share", "share"},
                                                {"policy", "gpu_policy"},
                                                {"gpus", "gpus"}}};

Result<std::string> text_of_value(const json::value& value, std::string_view field) {
  if (value.is_number()) return json_text(value);
  return word_from_json(value, field);
}

Result<JobSpec> read_lease(std::string_view body, const Peer& peer) {
  constexpr std::array<std::string_view, 11> kKeys = {"kind",     "name",     "project", "priority",
                                                      "gpu_mem",  "gpu_util", "share",   "policy",
                                                      "gpu_type", "gpus",     "user"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a lease", kKeys);
  if (!object) return object.error();
  JobSpec spec;
  spec.lease = true;
  spec.request.cpus = MilliCpu();
  spec.request.devices.count = 1;
  for (const LeaseField& one : kFields) {
    const auto* given = (*object)->if_contains(one.name);
    if (given == nullptr || given->is_null()) continue;
    const auto text = text_of_value(*given, one.name);
    if (!text) return text.error();
    if (const auto set = set_field(spec, one.field, *text); !set) return set.error();
  }
  if (const auto* type = (*object)->if_contains("gpu_type"); type != nullptr && !type->is_null()) {
    auto text = word_from_json(*type, "gpu_type");
    if (!text) return text.error();
    spec.request.devices.type = std::move(*text);
  }
  if (spec.request.devices.count == 0) return invalid_input("gpus must be at least 1");
  if (spec.kind.empty()) {
    return invalid_input("kind is missing: leases of one kind are expected to need the same");
  }
  if (spec.name.empty()) spec.name = spec.kind;
  spec.user = peer.user;
  spec.workdir = "/";
  spec.holder_pid = peer.pid;
  spec.holder_birth = peer.birth;
  return spec;
}

std::string grant_text(const LeaseGrant& grant) {
  json::array gpus;
  for (std::size_t i = 0; i < grant.devices.size(); ++i) {
    const Device& device = grant.devices[i];
    gpus.push_back({{"index", device.id.value},
                    {"uuid", text_to_json(device.uuid)},
                    {"name", text_to_json(device.name)},
                    {"type", text_to_json(device.type)},
                    {"memory_mib", device.memory.value},
                    {"granted_mib", grant.allocation.devices[i].memory.value},
                    {"emulated", !device.emulation.empty()}});
  }
  json::object env;
  for (const std::string& entry : grant.env) {
    const std::size_t equals = entry.find('=');
    env[entry.substr(0, equals)] = text_to_json(entry.substr(equals + 1));
  }
  return json_text(json::object{{"lease", grant.lease.value},
                                {"measuring", grant.allocation.measuring},
                                {"gpus", std::move(gpus)},
                                {"env", std::move(env)}});
}

// What the desk says, until the API's thread takes it. Any thread.
class LeaseMail : public LeaseHolder {
 public:
  LeaseMail(Threads::Post api, std::function<void()> poke)
      : api_(std::move(api)), poke_(std::move(poke)) {}

  void granted(const LeaseGrant& grant) override { put("granted", grant_text(grant), false); }
  void warned(const std::string& message) override {
    put("warning", json_text(json::object{{"message", text_to_json(message)}}), false);
  }
  void ended(const std::string& message) override {
    put("ended", json_text(json::object{{"message", text_to_json(message)}}), true);
  }

  // Moves what came to the end of `out`; true: nothing will follow.
  bool take(std::string& out) {
    const std::lock_guard lock(mutex_);
    out += text_;
    text_.clear();
    return over_;
  }

 private:
  void put(std::string_view event, const std::string& json, bool last) {
    {
      const std::lock_guard lock(mutex_);
      // A client that does not read gets the newest warnings only by asking for its GPUs.
      constexpr std::size_t kMost = 1 << 20;
      if (text_.size() < kMost || last) text_ += event_text(event, json);
      over_ = over_ || last;
    }
    api_(poke_);
  }

  Threads::Post api_;
  std::function<void()> poke_;
  std::mutex mutex_;
  std::string text_;
  bool over_ = false;
};

// The answer that is held open while its client waits for the lease and has it. With the connection
// the lease ends.
class LeaseStream : public ByteSource {
 public:
  LeaseStream(const Services& services, JobId lease) : services_(services), lease_(lease) {}
  ~LeaseStream() override {
    std::string unsent;
    if (over_ || mail_->take(unsent) || services_.leases->abandon(lease_)) return;
    services_.front.cancel({{lease_, {}}}, [](const Result<Changed>&) {});
  }
  LeaseStream(const LeaseStream&) = delete;
  LeaseStream& operator=(const LeaseStream&) = delete;

  void listen(std::shared_ptr<LeaseMail> mail) { mail_ = std::move(mail); }
  void poke() const { wake(); }
  Next pull(std::string& out) override {
    if (!begun_) {
      begun_ = true;
      out += event_text("queued", json_text(json::object{{"lease", lease_.value}}));
    }
    over_ = mail_->take(out);
    return over_ ? Next::kEnd : Next::kWait;
  }

 private:
  const Services& services_;
  JobId lease_;
  std::shared_ptr<LeaseMail> mail_;
  bool begun_ = false;
  bool over_ = false;
};

void hold(const CallPtr& call, JobId lease) {
  auto stream = std::make_shared<LeaseStream>(call->services, lease);
  auto mail =
      std::make_shared<LeaseMail>(call->threads.api, [weak = std::weak_ptr<LeaseStream>(stream)] {
        if (const auto alive = weak.lock()) alive->poke();
      });
  stream->listen(mail);
  call->services.leases->wait_for(lease, mail);
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.source = std::move(stream);
  response.chunked = true;  // a lease may be released, and the next asked for, where it was given
  call->respond(std::move(response));
}

// How the holder says that it went.
Result<Outcome> outcome_of(std::string_view body) {
  Outcome outcome;
  if (body.empty()) return outcome;
  constexpr std::array<std::string_view, 2> kKeys = {"outcome", "message"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a release", kKeys);
  if (!object) return object.error();
  if (const auto* given = (*object)->if_contains("outcome")) {
    if (*given == "failed") {
      outcome.exit_code = 1;
    } else if (*given == "out_of_memory") {
      outcome.ending = Ending::kDeviceOutOfMemory;
      outcome.exit_code = 1;
    } else if (*given != "succeeded") {
      return invalid_input("outcome must be succeeded, failed or out_of_memory");
    }
  }
  if (const auto* given = (*object)->if_contains("message")) {
    auto message = word_from_json(*given, "message");
    if (!message) return message.error();
    outcome.message = message->substr(0, 4096);
  }
  return outcome;
}

}  // namespace

void hold_lease(const CallPtr& call) {
  if (call->services.leases == nullptr) {
    return call->fail({ErrorCode::kUnsupported, "this daemon gives no leases"});
  }
  auto spec = read_lease(call->request.body, call->request.peer);
  if (!spec) return call->fail(spec.error());
  std::vector<JobSpec> specs;
  specs.push_back(std::move(*spec));
  call->services.front.submit(std::move(specs), false,
                              reply_to<Submitted>(call, [call](const Submitted& submitted) {
                                hold(call, submitted.jobs.front());
                              }));
}

void release_lease(const CallPtr& call) {
  const auto id = call->job_at(2);
  if (!id) return call->fail(id.error());
  auto outcome = outcome_of(call->request.body);
  if (!outcome) return call->fail(outcome.error());
  const auto done = [call, lease = *id] {
    call->threads.api([call, lease] {
      call->respond(json_response(200, json::object{{"lease", lease.value}}));
    });
  };
  if (call->services.leases == nullptr ||
      !call->services.leases->let_go(*id, std::move(*outcome), "released", done)) {
    return call->fail(not_found("there is no live lease " + std::to_string(id->value)));
  }
}

}  // namespace tutti
