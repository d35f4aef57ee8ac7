// Bytes of a connection: the request reader and the routes behind it. Invariants: every request has
// exactly one response; an error's body is a JSON object with code and message; a stream can be
// pulled without going on for ever.

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/request_reader.h"
#include "api/routes.h"
#include "api/testing/fake_services.h"
#include "base/check.h"
#include "wire/text_json.h"

namespace {

using namespace tutti;

void check_response(const HttpResponse& response) {
  TUTTI_CHECK(response.status >= 200 && response.status < 600);
  if (response.status >= 400) {
    const auto body = parse_json(response.body);
    TUTTI_CHECK(body.has_value());
    TUTTI_CHECK(!error_from_json(*body).message.empty());
    TUTTI_CHECK(body->at("error").at("code").is_string());
  }
  if (response.source == nullptr) return;
  std::string out;
  ByteSource::Next next = ByteSource::Next::kMore;
  for (int pulls = 0; next == ByteSource::Next::kMore; ++pulls) {
    TUTTI_CHECK(pulls < 1000);
    next = response.source->pull(out);
  }
}

// Jobs of every shape, for requests to find.
void fill(FakeWorld& world) {
  world.history.put(world.job(1));
  auto array = world.job(2, 5, TaskSet::Shape::kArray);
  set_state(array, TaskState::kRunning);
  world.history.put(array);
  auto batch = world.job(3, 2, TaskSet::Shape::kBatch);
  batch.lines = {"a", "b\xff"};
  set_state(batch, TaskState::kFailed);
  world.history.put(batch);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FakeWorld world;
  fill(world);
  const Services services = world.services();
  const Threads threads{[](auto work) { work(); }, [](auto work) { work(); }};
  RequestReader reader;
  while (true) {
    std::size_t used = 0;
    const RequestReader::Step step = reader.feed(bytes, used);
    TUTTI_CHECK(used <= bytes.size());
    bytes.remove_prefix(used);
    if (step == RequestReader::Step::kMore) return 0;
    if (step == RequestReader::Step::kFailed) {
      check_response(reader.failure());
      return 0;
    }
    if (step == RequestReader::Step::kHeader) continue;
    int responses = 0;
    dispatch(services, threads, reader.take(), [&](const HttpResponse& response) {
      ++responses;
      check_response(response);
    });
    TUTTI_CHECK(responses == 1);
  }
}
