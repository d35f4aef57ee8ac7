#include "api/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "api/testing/fake_services.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  void TearDown() override {
    session->close();
    if (wire.reading) std::exchange(wire.reading, {})(false, 0);
    if (wire.writing) std::exchange(wire.writing, {})(false, 0);
  }
  void start(bool impatient = false, std::string token = {}) {
    Conversation::Setup setup;
    setup.impatient = impatient;
    setup.token = std::move(token);
    const Threads threads{[this](auto work) { later.push_back(std::move(work)); },
                          [](auto work) { work(); }};
    session = std::make_shared<Conversation>(
        services, threads, std::make_unique<FakeConnection>(wire),
        std::make_unique<FakeAlarm>(patience), std::make_unique<FakeAlarm>(poll), std::move(setup));
    session->start();
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
  std::string take_all() {
    std::string all;
    while (wire.writing) all += take();
    return all;
  }

  std::deque<std::function<void()>> later;  // outlives the world, whose end posts to it
  FakeWorld world;
  const Services services = world.services();
  Wire wire;
  Bell patience;
  Bell poll;
  std::shared_ptr<Conversation> session;
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

TEST_F(ConversationTest, head_is_answered_without_a_body) {
  start();
  send("HEAD /v1/nodes HTTP/1.1\r\n\r\n");
  const std::string answer = take_all();
  EXPECT_THAT(answer, HasSubstr("405 Method Not Allowed"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  send("GET /v1/nodes HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(take_all().starts_with("HTTP/1.1 200 OK"));
}

TEST_F(ConversationTest, what_is_done_later_is_accepted) {
  world.front.here_is_elsewhere = true;
  start();
  send("POST /v1/nodes/here/check HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(take_all(), HasSubstr("202 Accepted"));
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

// A lease is held on the connection, and what is sent behind it is carried out meanwhile.
class ConversationWithLeaseTest : public ConversationTest, private ReportSink {
 protected:
  static constexpr char kAsk[] =
      "POST /v1/leases HTTP/1.1\r\nContent-Length: 12\r\n\r\n{\"kind\":\"k\"}";
  static constexpr char kRelease[] = "DELETE /v1/leases/100 HTTP/1.1\r\n\r\n";

  void SetUp() override { ASSERT_TRUE(world.leases.attach({}, *this)); }
  void hold_lease(std::string token = {}) {
    start(false, token);
    std::string ask = kAsk;
    if (!token.empty()) ask.insert(ask.find("Content-"), "Authorization: Bearer " + token + "\r\n");
    send(ask);
    grant();
    const std::string answer = take_all();
    ASSERT_THAT(answer, HasSubstr("Transfer-Encoding: chunked"));
    ASSERT_THAT(answer, HasSubstr("event: granted"));
  }
  void grant() {
    LaunchContext context;
    context.lease = true;
    StartAttempt order;
    order.attempt = kAttempt;
    order.context = std::make_shared<const LaunchContext>(context);
    world.leases.order({order});
    run_posted();
  }
  void write_round() {
    world.leases.journalled(std::array{kAttempt});
    run_posted();
  }
  std::vector<Outcome> outcomes;

 private:
  static constexpr AttemptId kAttempt{{JobId(100), 0}, 1};
  void report(std::vector<Report> reports) override {
    for (const Report& one : reports) outcomes.push_back(std::get<AttemptEnded>(one).outcome);
  }
};

TEST_F(ConversationWithLeaseTest, a_release_is_answered_behind_the_stream_once_it_is_on_disk) {
  hold_lease();
  send(kRelease);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].succeeded());
  EXPECT_FALSE(wire.writing);
  write_round();
  const std::string answer = take();
  const std::size_t end = answer.find("\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n");
  EXPECT_LT(answer.find("event: ended"), end);
  ASSERT_NE(end, answer.npos);
  EXPECT_THAT(answer.substr(end), HasSubstr("{\"lease\":100}"));
  EXPECT_TRUE(wire.reading);
  EXPECT_FALSE(patience.ring);
}

TEST_F(ConversationWithLeaseTest, the_next_lease_is_asked_for_right_behind_the_release) {
  hold_lease();
  send(std::string(kRelease) + kAsk);
  EXPECT_EQ(world.front.submitted.size(), 1u);
  write_round();
  grant();
  const std::string answer = take_all();
  EXPECT_LT(answer.find("{\"lease\":100}"), answer.find("event: queued"));
  EXPECT_LT(answer.find("event: queued"), answer.find("event: granted"));
  EXPECT_FALSE(patience.ring);
  send(kRelease);
  EXPECT_EQ(outcomes.size(), 2u);
}

TEST_F(ConversationWithLeaseTest, a_third_request_waits_for_the_end_of_the_stream) {
  hold_lease();
  send("GET /v1/nodes HTTP/1.1\r\n\r\nGET /v1/nodes HTTP/1.1\r\n\r\n");
  send(kRelease);
  EXPECT_TRUE(outcomes.empty());
  EXPECT_TRUE(wire.reading);
}

TEST_F(ConversationWithLeaseTest, who_sends_too_much_ahead_is_cut_off_and_loses_the_lease) {
  hold_lease();
  send("GET /v1/nodes HTTP/1.1\r\n\r\nGET /v1/nodes HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 1000 && !wire.closed; ++i) send(std::string(wire.room, 'x'));
  EXPECT_TRUE(wire.closed);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].ending, Ending::kLost);
}

TEST_F(ConversationWithLeaseTest, who_hangs_up_without_a_word_loses_the_lease) {
  hold_lease();
  std::exchange(wire.reading, {})(false, 0);
  EXPECT_TRUE(wire.closed);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].ending, Ending::kLost);
}

TEST_F(ConversationWithLeaseTest, who_hangs_up_right_after_the_release_has_released) {
  hold_lease();
  send(kRelease);
  std::exchange(wire.reading, {})(false, 0);
  EXPECT_TRUE(wire.closed);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_TRUE(outcomes[0].succeeded());
  EXPECT_TRUE(world.front.selected.empty());
  write_round();
}

TEST_F(ConversationWithLeaseTest,
       a_request_without_the_token_is_refused_behind_the_stream_and_is_the_last) {
  hold_lease("secret");
  send(std::string(kRelease) + kAsk);
  EXPECT_TRUE(outcomes.empty());
  EXPECT_FALSE(wire.writing);
  world.leases.let_go(JobId(100), {}, "over", {});
  write_round();
  EXPECT_THAT(take(), HasSubstr("0\r\n\r\nHTTP/1.1 401 "));
  EXPECT_TRUE(wire.finished);
}

TEST_F(ConversationWithLeaseTest, what_is_no_request_is_refused_behind_the_stream_and_is_the_last) {
  hold_lease();
  send("nonsense\r\n\r\n");
  send(kRelease);
  EXPECT_TRUE(outcomes.empty());
  world.leases.let_go(JobId(100), {}, "over", {});
  write_round();
  EXPECT_THAT(take(), HasSubstr("0\r\n\r\nHTTP/1.1 400 "));
  EXPECT_TRUE(wire.finished);
}

TEST_F(ConversationWithLeaseTest, a_release_of_another_lease_fails_and_the_stream_goes_on) {
  hold_lease();
  send("DELETE /v1/leases/7 HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(wire.writing);
  send(kRelease);
  write_round();
  const std::string answer = take();
  EXPECT_LT(answer.find("HTTP/1.1 404 "), answer.find("{\"lease\":100}"));
}

TEST_F(ConversationWithLeaseTest, half_a_request_behind_the_stream_is_given_up) {
  hold_lease();
  send("DELETE /v1/lea");
  ASSERT_TRUE(patience.ring);
  patience.ring();
  EXPECT_TRUE(wire.closed);
}

TEST_F(ConversationWithLeaseTest, a_client_that_closes_after_its_answer_gets_no_chunks) {
  start();
  std::string ask = kAsk;
  send(ask.insert(ask.find("Content-"), "Connection: close\r\n"));
  EXPECT_THAT(take(), Not(HasSubstr("chunked")));
}

}  // namespace
}  // namespace tutti
