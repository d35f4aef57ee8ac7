#include "api/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/testing/fake_services.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kDeadlineMs = 20000;

// A client's end of a connection.
class Client {
 public:
  static Client to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    Client client(AF_UNIX);
    EXPECT_EQ(::connect(client.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
    return client;
  }
  static Client to(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Client client(AF_INET);
    EXPECT_EQ(::connect(client.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
    return client;
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // Reads until `mark` has come, the server closes or the deadline is over.
  std::string until(std::string_view mark) {
    while (mark.empty() || seen_.find(mark) == seen_.npos) {
      pollfd ready{fd_.get(), POLLIN, 0};
      if (::poll(&ready, 1, kDeadlineMs) != 1) {
        ADD_FAILURE() << "nothing came; so far: " << seen_.substr(0, 500);
        break;
      }
      char buffer[65536];
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) break;
      seen_.append(buffer, static_cast<std::size_t>(n));
    }
    return seen_;
  }
  std::string all() { return until({}); }
  void forget() { seen_.clear(); }
  // Whether the server does not even read any more.
  bool is_left() const { return ::send(fd_.get(), "x", 1, MSG_NOSIGNAL) < 0; }

 private:
  explicit Client(int family) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  UniqueFd fd_;
  std::string seen_;
};

std::string get(std::string_view target, std::string_view more = "Connection: close\r\n") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(more) + "\r\n";
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    std::string pattern = (fs::temp_directory_path() / "tutti-server-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    world.log_folder = folder.string();
    options.unix_path = (folder / "sock").string();
  }
  ~ServerTest() override {
    server.reset();
    fs::remove_all(folder);
  }
  void start() {
    server = std::make_unique<Server>(options, world.services());
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  Client client() { return Client::to(options.unix_path); }
  void publish(const FakeHistory::Job& job) {
    world.history.put(job);
    Round round;
    round.jobs = {job.summary.row};
    world.events.published(round);
  }
  void write(const std::string& name, std::string_view bytes) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary | std::ios::app) << bytes;
  }

  FakeWorld world;
  fs::path folder;
  ServerOptions options;
  std::unique_ptr<Server> server;
};

TEST_F(ServerTest, answers_on_a_socket_that_is_its_owners_alone) {
  start();
  struct stat facts {};
  ASSERT_EQ(::stat(options.unix_path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  auto one = client();
  one.send(get("/v1/status"));
  const std::string answer = one.all();
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\"version\":\"1.2.3\""));
}

TEST_F(ServerTest, the_socket_file_goes_with_the_server) {
  start();
  server->stop();
  EXPECT_FALSE(fs::exists(options.unix_path));
}

TEST_F(ServerTest, a_socket_that_nobody_answers_is_replaced) {
  {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options.unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  start();
}

TEST_F(ServerTest, a_socket_that_answers_is_left_alone) {
  start();
  Server second(options, world.services());
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kConflict);
  auto one = client();
  one.send(get("/v1/status"));
  EXPECT_THAT(one.all(), HasSubstr("200 OK"));
}

TEST_F(ServerTest, a_file_in_the_way_is_not_removed) {
  write("sock", "precious");
  Server second(options, world.services());
  EXPECT_FALSE(second.start());
  EXPECT_TRUE(fs::exists(options.unix_path));
}

TEST_F(ServerTest, one_connection_serves_many_requests) {
  start();
  auto one = client();
  for (int i = 0; i < 20; ++i) {
    one.forget();
    one.send(get("/v1/nodes", ""));
    EXPECT_THAT(one.until("}]}\n"), HasSubstr("200 OK"));
  }
}

TEST_F(ServerTest, pipelined_requests_are_answered_in_order) {
  start();
  auto one = client();
  one.send(get("/v1/jobs/last", "") + get("/v1/nodes"));
  const std::string answers = one.all();
  EXPECT_LT(answers.find("404 Not Found"), answers.find("200 OK"));
}

TEST_F(ServerTest, a_submission_is_its_socket_peers) {
  start();
  auto one = client();
  const std::string body = R"({"command":"true"})";
  one.send("POST /v1/jobs HTTP/1.1\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_THAT(one.all(), HasSubstr("201 Created"));
  ASSERT_EQ(world.front.submitted.size(), 1u);
  EXPECT_FALSE(world.front.submitted[0].user.empty());
}

TEST_F(ServerTest, a_large_body_is_taken_and_a_too_large_one_refused) {
  start();
  auto one = client();
  const std::string body = R"({"lines":["echo )" + std::string(3 << 20, 'x') + "\"]}";
  one.send(
      "POST /v1/jobs HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  one.until("100 Continue\r\n\r\n");
  one.send(body);
  EXPECT_THAT(one.all(), HasSubstr("201 Created"));
  auto two = client();
  two.send("POST /v1/cancel HTTP/1.1\r\nContent-Length: 900000000\r\n\r\n" +
           std::string(1 << 20, ' '));
  EXPECT_THAT(two.all(), HasSubstr("413 "));
}

TEST_F(ServerTest, garbage_is_answered_and_the_connection_closed) {
  start();
  auto one = client();
  one.send("\x16\x03\x01 hello\r\n\r\n");
  EXPECT_THAT(one.all(), HasSubstr("400 Bad Request"));
}

TEST_F(ServerTest, tcp_needs_a_token_to_listen_and_to_ask) {
  options.tcp = "127.0.0.1:0";
  Server open(options, world.services());
  EXPECT_FALSE(open.start());
  options.token = "s3cret";
  start();
  ASSERT_NE(server->tcp_port(), 0);
  for (const char* header : {"", "Authorization: Bearer wrong!\r\n", "Authorization: Bearer \r\n",
                             "Authorization: Basic s3cret\r\n", "Authorization: s3cret\r\n"}) {
    auto stranger = Client::to(server->tcp_port());
    stranger.send(get("/v1/status", header));
    EXPECT_THAT(stranger.all(), HasSubstr("401 Unauthorized")) << header;
  }
  auto friend_of_ours = Client::to(server->tcp_port());
  friend_of_ours.send(get("/v1/status", "Authorization: Bearer s3cret\r\nConnection: close\r\n"));
  EXPECT_THAT(friend_of_ours.all(), HasSubstr("200 OK"));
}

TEST_F(ServerTest, bad_addresses_to_listen_on_are_refused) {
  options.token = "t";
  for (const char* address : {"nowhere", "127.0.0.1", "127.0.0.1:99999", ":80", "example:80"}) {
    options.tcp = address;
    Server second(options, world.services());
    EXPECT_FALSE(second.start()) << address;
  }
}

TEST_F(ServerTest, beyond_its_most_connections_it_says_so_and_recovers) {
  options.most_connections = 3;
  start();
  std::vector<Client> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(client());
    held.back().send(get("/v1/status", ""));
    held.back().until("\"rounds\"");
  }
  EXPECT_THAT(client().all(), HasSubstr("503 Service Unavailable"));
  held.clear();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
  std::string answer;
  while (answer.find("200 OK") == answer.npos && std::chrono::steady_clock::now() < deadline) {
    auto one = client();
    one.send(get("/v1/status"));
    answer = one.all();
  }
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST_F(ServerTest, of_those_it_refused_only_the_newest_may_stay) {
  options.most_connections = 1;
  start();
  auto held = client();
  held.send(get("/v1/status", ""));
  held.until("\"rounds\"");
  std::vector<Client> refused;
  for (int i = 0; i < 40; ++i) {
    refused.push_back(client());
    EXPECT_THAT(refused.back().all(), HasSubstr("503 Service Unavailable")) << i;
  }
  EXPECT_TRUE(refused.front().is_left());
  EXPECT_FALSE(refused.back().is_left());
}

TEST_F(ServerTest, a_log_is_sent_whole) {
  auto job = world.job(1);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  const std::string bytes(5 << 20, '\xfe');
  write("0/1.out", bytes);
  start();
  auto one = client();
  one.send(get("/v1/jobs/1/logs"));
  const std::string answer = one.all();
  EXPECT_THAT(answer.substr(0, 300), HasSubstr("Content-Length: " + std::to_string(bytes.size())));
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), bytes);
}

TEST_F(ServerTest, a_followed_job_ends_with_its_last_output) {
  auto job = world.job(1);
  world.history.put(job);
  start();
  auto one = client();
  one.send(get("/v1/jobs/1/stream?logs=1"));
  one.until("\"state\":\"queued\"");
  set_state(job, TaskState::kRunning);
  publish(job);
  one.until("\"state\":\"running\"");
  write("0/1.out", "working\n");
  one.until("working");
  write("0/1.out", "last");
  set_state(job, TaskState::kSucceeded);
  publish(job);
  const std::string text = one.all();
  EXPECT_LT(text.find("\"text\":\"last\""), text.find("event: end"));
}

TEST_F(ServerTest, all_jobs_are_followed) {
  world.history.put(world.job(1));
  start();
  auto one = client();
  one.send(get("/v1/events"));
  one.until("changes of jobs");
  publish(world.history.get(JobId(1)));
  EXPECT_THAT(one.until("event: job"), HasSubstr("text/event-stream"));
  Round round;
  NodeChanged changed;
  changed.node.id = NodeId(1);
  changed.node.name = "here";
  round.events.push_back({TimePoint(1), changed});
  world.events.published(round);
  one.until("event: node");
}

// What the process holds, in KiB.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * 4;
}

TEST_F(ServerTest, clients_that_stop_reading_neither_block_others_nor_grow_memory) {
  auto job = world.job(1);
  set_state(job, TaskState::kRunning);
  world.history.put(job);
  write("0/1.out", std::string(64 << 20, 'x'));
  start();
  std::vector<Client> stuck;
  for (int i = 0; i < 5; ++i) {
    stuck.push_back(client());
    stuck.back().send(get("/v1/jobs/1/stream?logs=1"));
    stuck.push_back(client());
    stuck.back().send(get("/v1/jobs/1/logs"));
    stuck.push_back(client());
    stuck.back().send(get("/v1/events"));
  }
  const std::size_t before = resident();
  for (int i = 0; i < 2000; ++i) {
    publish(job);
    if (i % 100 != 0) continue;
    auto one = client();
    one.send(get("/v1/status"));
    EXPECT_THAT(one.all(), HasSubstr("200 OK"));
  }
  EXPECT_LT(resident() - std::min(before, resident()), 60u << 10);
}

TEST_F(ServerTest, stopping_ends_streams_and_half_sent_requests) {
  world.history.put(world.job(1));
  start();
  auto one = client();
  one.send(get("/v1/jobs/1/stream?logs=1"));
  one.until("event: job");
  auto two = client();
  two.send("POST /v1/jobs HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  server->stop();
  one.all();
  two.all();
}

// Answers when told to, from another thread.
class SlowFront : public FakeFront {
 public:
  void status(Reply<Status> reply) override {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(reply));
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return waiting.size();
  }
  std::mutex mutex;
  std::vector<Reply<Status>> waiting;
};

TEST_F(ServerTest, a_reply_that_comes_after_the_end_is_dropped) {
  SlowFront slow;
  Services services{slow,
                    world.history,
                    world.events,
                    world.clock,
                    nullptr,
                    nullptr,
                    nullptr,
                    nullptr,
                    nullptr,
                    "/",
                    [] { return StatusFacts(); },
                    {}};
  auto slow_server = std::make_unique<Server>(options, services);
  ASSERT_TRUE(slow_server->start());
  auto one = client();
  one.send(get("/v1/status"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
  while (slow.count() < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_EQ(slow.count(), 2u);  // its own question about nodes, and ours
  slow_server.reset();
  std::thread controller([&] {
    for (auto& reply : slow.waiting) reply(Status());
    slow.waiting.clear();
  });
  controller.join();
}

}  // namespace
}  // namespace tutti
