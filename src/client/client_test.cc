#include "client/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/json.hpp>
#include <cstring>
#include <filesystem>
#include <thread>

#include "client/http_client.h"

namespace tutti {
namespace {

// A server that takes one connection after the other and answers each request with the next of its
// answers, whatever was asked. An answer that is empty closes the connection instead.
class CannedServer {
 public:
  explicit CannedServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    std::string folder = "/tmp/tutti-client-test-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    endpoint_.home = folder;
    endpoint_.socket = folder + "/s";
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, endpoint_.socket.data(), endpoint_.socket.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~CannedServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<Client> client() { return make_http_client(endpoint_, {}); }
  // After the client has its answers.
  const std::vector<std::string>& requests() const { return requests_; }
  int connections() const { return connections_; }

 private:
  void serve() {
    std::size_t next = 0;
    while (next < answers_.size()) {
      UniqueFd fd(::accept(listener_.get(), nullptr, nullptr));
      if (!fd) return;
      ++connections_;
      while (next < answers_.size() && read_request(fd.get())) {
        const std::string& answer = answers_[next++];
        if (answer.empty()) break;
        EXPECT_EQ(::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(answer.size()));
        if (answer.find("Connection: close") != std::string::npos) break;
      }
    }
  }

  bool read_request(int fd) {
    std::string text;
    char bytes[4096];
    while (true) {
      const auto head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const auto length = text.find("Content-Length: ");
        const std::size_t body = length == text.npos ? 0 : std::stoul(text.substr(length + 16));
        if (text.size() >= head + 4 + body) {
          requests_.push_back(text);
          return true;
        }
      }
      const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
      if (got <= 0) return false;
      text.append(bytes, static_cast<std::size_t>(got));
    }
  }

  std::vector<std::string> answers_;
  std::vector<std::string> requests_;
  std::atomic<int> connections_ = 0;
  std::string folder_;
  Endpoint endpoint_;
  UniqueFd listener_;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(Client, a_request_returns_the_json_of_its_answer_on_one_connection) {
  CannedServer server({ok(R"({"id":1})"), ok(R"({"id":2})")});
  auto client = server.client();
  EXPECT_EQ(client->request("GET", "/v1/jobs/last", {}).value().at("id").to_number<int>(), 1);
  EXPECT_EQ(client->request("POST", "/v1/jobs", "{}").value().at("id").to_number<int>(), 2);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_TRUE(server.requests()[1].starts_with("POST /v1/jobs HTTP/1.1\r\n"));
  EXPECT_TRUE(server.requests()[1].ends_with("\r\n\r\n{}"));
}

TEST(Client, an_error_of_the_daemon_keeps_its_code_and_message) {
  const std::string body = R"({"error":{"code":"not_found","message":"no job 7"}})";
  CannedServer server({"HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\n\r\n" + body});
  auto answer = server.client()->request("GET", "/v1/jobs/7", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(answer.error().message, "no job 7");
}

TEST(Client, another_api_number_is_refused) {
  CannedServer server({"HTTP/1.1 200 OK\r\nTutti-Api: 2\r\nContent-Length: 2\r\n\r\n{}"});
  auto answer = server.client()->request("GET", "/v1/status", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(answer.error().message.find("tutti daemon restart"), std::string::npos);
}

TEST(Client, something_that_is_not_http_is_refused) {
  CannedServer server({"SSH-2.0-whatever\r\n\r\n"});
  auto answer = server.client()->request("GET", "/v1/status", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
}

TEST(Client, a_connection_that_closes_in_the_middle_is_unavailable) {
  CannedServer server({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{"});
  auto answer = server.client()->request("GET", "/v1/status", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST(Client, a_kept_connection_that_was_closed_is_opened_again_for_a_get) {
  CannedServer server({ok("{}"), "", ok(R"({"again":true})")});
  auto client = server.client();
  ASSERT_TRUE(client->request("GET", "/v1/status", {}));
  EXPECT_TRUE(client->request("GET", "/v1/status", {}).value().as_object().contains("again"));
}

TEST(Client, a_missing_daemon_is_unavailable_and_may_be_started) {
  Endpoint nowhere;
  nowhere.socket = "/tmp/tutti-client-test-nowhere/s";
  auto answer = make_http_client(nowhere, {})->request("GET", "/v1/status", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  int starts = 0;
  auto client = make_http_client(nowhere, [&starts]() -> Result<void> {
    ++starts;
    return {};
  });
  EXPECT_FALSE(client->request("GET", "/v1/status", {}));
  EXPECT_EQ(starts, 1);
}

TEST(Client, a_download_comes_byte_by_byte_also_in_chunks) {
  using namespace std::string_literals;
  CannedServer server(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\0b\r\n2\r\n\xff\n\r\n0\r\n\r\n"s});
  std::string got;
  ASSERT_TRUE(server.client()->download("/v1/jobs/1/logs", [&got](std::string_view piece) {
    got += piece;
    return Result<void>();
  }));
  EXPECT_EQ(got, "a\0b\xff\n"s);
}

// Keeps event names and stops at "end".
class Recorder : public StreamListener {
 public:
  Next on_event(const ServerEvent& event) override {
    names += event.name + ";";
    return event.name == "end" ? Next::kStop : Next::kGoOn;
  }
  std::string names;
};

TEST(Client, a_stream_is_read_until_the_listener_has_enough) {
  CannedServer server(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "17\r\nevent: job\ndata: {}\n\nev\r\n14\r\nent: end\ndata: {}\n\n\n\r\n"});
  Recorder recorder;
  ASSERT_TRUE(server.client()->stream("/v1/jobs/1/stream", recorder));
  EXPECT_EQ(recorder.names, "job;end;");
}

TEST(Client, query_escape_leaves_nothing_that_means_something) {
  EXPECT_EQ(query_escape("a b&c=d/\xc3\xa4"), "a%20b%26c%3Dd%2F%C3%A4");
  EXPECT_EQ(query_escape("A-z_0.~"), "A-z_0.~");
}

TEST(Endpoint, tutti_host_needs_a_port_and_a_token) {
  ::setenv("TUTTI_HOST", "box", 1);
  EXPECT_EQ(find_endpoint("/nowhere").error().code, ErrorCode::kInvalidInput);
  ::setenv("TUTTI_HOST", "[::1]:7000", 1);
  EXPECT_EQ(find_endpoint("/nowhere").error().code, ErrorCode::kDenied);
  ::setenv("TUTTI_TOKEN", "secret", 1);
  const auto endpoint = find_endpoint("/nowhere");
  ::unsetenv("TUTTI_HOST");
  ::unsetenv("TUTTI_TOKEN");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "::1");
  EXPECT_EQ(endpoint->port, "7000");
  EXPECT_EQ(endpoint->token, "secret");
}

}  // namespace
}  // namespace tutti
