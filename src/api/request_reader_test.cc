#include "api/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using Step = RequestReader::Step;
using testing::HasSubstr;

// Feeds all of `text`, `piece` bytes at a time, and gives the last step.
Step feed(RequestReader& reader, std::string_view text, std::size_t piece = 1 << 20) {
  std::string held;
  Step step = Step::kMore;
  while (!text.empty() || step == Step::kHeader) {
    held += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    do {
      std::size_t used = 0;
      step = reader.feed(held, used);
      held.erase(0, used);
    } while (step == Step::kHeader);
    if (step != Step::kMore) break;
  }
  return step;
}

constexpr std::string_view kPost =
    "POST /v1/jobs?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nAuthorization: bearer "
    "T0k\r\n\r\nhello";

TEST(RequestReader, reads_a_request_however_its_bytes_are_cut) {
  for (std::size_t piece = 1; piece <= kPost.size(); ++piece) {
    RequestReader reader;
    ASSERT_EQ(feed(reader, kPost, piece), Step::kDone) << piece;
    EXPECT_EQ(reader.token(), "T0k");
    const HttpRequest request = reader.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/v1/jobs?x=1");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(reader.keep_alive());
    EXPECT_FALSE(reader.begun());
  }
}

TEST(RequestReader, leaves_the_next_request_alone) {
  const std::string two = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\n";
  RequestReader reader;
  std::size_t used = 0;
  ASSERT_EQ(reader.feed(two, used), Step::kHeader);
  const std::size_t first = used;
  ASSERT_EQ(reader.feed(std::string_view(two).substr(first), used), Step::kDone);
  EXPECT_EQ(reader.take().target, "/a");
  EXPECT_EQ(feed(reader, two.substr(first + used)), Step::kDone);
  EXPECT_EQ(reader.take().target, "/b");
  EXPECT_FALSE(reader.keep_alive());
}

TEST(RequestReader, reads_chunked_bodies) {
  RequestReader reader;
  ASSERT_EQ(
      feed(reader,
           "POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
           "0\r\n\r\n",
           7),
      Step::kDone);
  EXPECT_EQ(reader.take().body, "abcde");
}

TEST(RequestReader, asks_to_go_on_when_the_client_waits_for_it) {
  RequestReader reader;
  std::size_t used = 0;
  ASSERT_EQ(
      reader.feed("POST /v1/jobs HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
                  used),
      Step::kHeader);
  EXPECT_TRUE(reader.expects_continue());
}

TEST(RequestReader, a_body_that_is_announced_too_large_is_413_before_it_comes) {
  RequestReader reader;
  EXPECT_EQ(feed(reader, "POST /v1/cancel HTTP/1.1\r\nContent-Length: 900000000\r\n\r\n"),
            Step::kFailed);
  EXPECT_EQ(reader.failure().status, 413);
  EXPECT_THAT(reader.failure().body, HasSubstr("16 MiB"));
}

TEST(RequestReader, a_chunked_body_that_grows_too_large_is_413) {
  const std::string head = "POST /v1/nodes/a/state HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  std::string text = head;
  for (int i = 0; i < 16; ++i) text += chunk;
  RequestReader fits;
  EXPECT_EQ(feed(fits, text, 8192), Step::kMore);
  RequestReader reader;
  EXPECT_EQ(feed(reader, text + chunk, 8192), Step::kFailed);
  EXPECT_EQ(reader.failure().status, 413);
}

TEST(RequestReader, a_header_that_is_too_large_is_431) {
  for (const auto& text : {"GET /v1/status HTTP/1.1\r\nX: " + std::string(70000, 'y'),
                           "GET /" + std::string(70000, 'a')}) {
    RequestReader reader;
    EXPECT_EQ(feed(reader, text, 8192), Step::kFailed);
    EXPECT_EQ(reader.failure().status, 431);
  }
}

TEST(RequestReader, what_is_not_http_is_400) {
  for (const std::string_view text :
       {std::string_view("\0\1\2\3\4\5\6\7", 8),
        std::string_view("GET /v1/status HTTP/0.9\r\n\r\n"),
        std::string_view("GET /v1/status\r\n\r\n"), std::string_view("{\"command\":\"x\"}\r\n\r\n"),
        std::string_view("POST /v1/jobs HTTP/1.1\r\nContent-Length: -5\r\n\r\n{}"),
        std::string_view(
            "POST /v1/jobs HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}"),
        std::string_view("POST /v1/jobs HTTP/1.1\r\nContent-Length: 2\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string_view("POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    RequestReader reader;
    EXPECT_EQ(feed(reader, text), Step::kFailed) << text;
    EXPECT_EQ(reader.failure().status, 400) << text;
    EXPECT_THAT(reader.failure().body, HasSubstr("invalid_input"));
  }
}

TEST(RequestReader, after_a_failure_nothing_more_is_taken) {
  RequestReader reader;
  feed(reader, "nonsense\r\n\r\n");
  std::size_t used = 1;
  EXPECT_EQ(reader.feed(kPost, used), Step::kFailed);
  EXPECT_EQ(used, 0u);
}

}  // namespace
}  // namespace tutti
