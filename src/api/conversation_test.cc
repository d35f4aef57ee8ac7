#include "api/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "api/testing/fake_services.h"

namespace tutti {
namespace {

using testing::HasSubstr;

// A connection whose other end is the test: it sends, takes and hangs up.
struct Wire {
  ClientConnection::Done reading;
  char* buffer = nullptr;
  std::size_t room = 0;
  ClientConnection::Done writing;
  std::string offered;  // what a pending write offers
  bool finished = false;
  bool closed = false;
};

class FakeConnection : public ClientConnection {
 public:
  explicit FakeConnection(Wire& wire) : wire_(wire) {}
  void open(std::function<void(bool)> done) override { done(true); }
  void read_some(char* data, std::size_t size, Done done) override {
    wire_.buffer = data;
    wire_.room = size;
    wire_.reading = std::move(done);
  }
  void write_some(const char* data, std::size_t size, Done done) override {
    wire_.offered.assign(data, size);
    wire_.writing = std::move(done);
  }
  void finish() override { wire_.finished = true; }
  void close() override { wire_.closed = true; }

 private:
  Wire& wire_;
};

struct Bell {
  std::function<void()> ring;  // empty: not set
};

class FakeAlarm : public Alarm {
 public:
  explicit FakeAlarm(Bell& bell) : bell_(bell) {}
  void set(Duration, std::function<void()> ring) override { bell_.ring = std::move(ring); }
  void cancel() override { bell_.ring = {}; }

 private:
  Bell& bell_;
};

class ConversationTest : public testing::Test {
 protected:
  ~ConversationTest() override {
    conversation->close();
    if (wire.reading) std::exchange(wire.reading, {})(false, 0);
    if (wire.writing) std::exchange(wire.writing, {})(false, 0);
  }
  void start(bool impatient = false) {
    Conversation::Setup setup;
    setup.impatient = impatient;
    const Threads threads{[this](auto work) { later.push_back(std::move(work)); },
                          [](auto work) { work(); }};
    conversation = std::make_shared<Conversation>(
        services, threads, std::make_unique<FakeConnection>(wire),
        std::make_unique<FakeAlarm>(patience), std::make_unique<FakeAlarm>(poll), std::move(setup));
    conversation->start();
  }
  void run_posted() {
    while (!later.empty()) {
      const auto work = std::move(later.front());
      later.pop_front();
      work();
    }
  }
  void send(std::string_view bytes) {
    ASSERT_TRUE(wire.reading);
    ASSERT_LE(bytes.size(), wire.room);
    bytes.copy(wire.buffer, bytes.size());
    std::exchange(wire.reading, {})(true, bytes.size());
    run_posted();
  }
  // Takes at most `most` bytes of what is offered.
  std::string take(std::size_t most = SIZE_MAX) {
    if (!wire.writing) return {};
    const std::string taken = wire.offered.substr(0, most);
    std::exchange(wire.writing, {})(true, taken.size());
    run_posted();
    return taken;
  }

  FakeWorld world;
  const Services services = world.services();
  std::deque<std::function<void()>> later;
  Wire wire;
  Bell patience;
  Bell poll;
  std::shared_ptr<Conversation> conversation;
};

TEST_F(ConversationTest, a_silent_connection_is_kept) {
  start();
  EXPECT_FALSE(patience.ring);
}

TEST_F(ConversationTest, a_stranger_must_ask_soon) {
  start(true);
  ASSERT_TRUE(patience.ring);
  patience.ring();
  EXPECT_TRUE(wire.closed);
}

TEST_F(ConversationTest, a_half_sent_request_is_given_up) {
  start();
  send("POST /v1/cancel HTTP/1.1\r\nContent-Le");
  ASSERT_TRUE(patience.ring);
  patience.ring();
  EXPECT_TRUE(wire.closed);
}

TEST_F(ConversationTest, an_answer_that_is_not_taken_is_given_up) {
  start();
  send("GET /v1/nodes HTTP/1.1\r\n\r\n");
  EXPECT_THAT(take(10), HasSubstr("HTTP/1.1"));
  ASSERT_TRUE(patience.ring);
  patience.ring();
  EXPECT_TRUE(wire.closed);
}

TEST_F(ConversationTest, after_a_whole_answer_the_connection_waits_for_the_next_request) {
  start();
  send("GET /v1/nodes HTTP/1.1\r\n\r\n");
  EXPECT_THAT(take(), HasSubstr("200 OK"));
  EXPECT_FALSE(patience.ring);
  EXPECT_TRUE(wire.reading);
  EXPECT_FALSE(wire.closed);
}

TEST_F(ConversationTest, a_stream_waits_for_a_slow_reader_without_making_more) {
  world.history.put(world.job(1));
  start();
  send("GET /v1/events HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(patience.ring);
  const std::string offered = wire.offered;
  for (int i = 0; i < 100; ++i) {
    Round round;
    round.jobs = {world.history.get(JobId(1)).summary.row};
    world.events.published(round);
    world.events.deliver(EventHub::Haste::kNextPause);
    run_posted();
  }
  EXPECT_EQ(wire.offered, offered);
  take();
  EXPECT_THAT(take(), HasSubstr("event: lagged"));
}

TEST_F(ConversationTest, a_stream_ends_when_its_client_hangs_up) {
  start();
  send("GET /v1/events HTTP/1.1\r\n\r\n");
  take();
  std::exchange(wire.reading, {})(false, 0);
  EXPECT_TRUE(wire.closed);
  EXPECT_FALSE(world.events.has_followers_of_all());
}

}  // namespace
}  // namespace tutti
