#include "api/request_reader.h"

#include <boost/beast/core/multi_buffer.hpp>
#include <boost/beast/http.hpp>

#include "api/routes.h"

namespace tutti {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

// A body in a string that grows with what arrives: the library's own would reserve what the client
// announces, before a single byte has come.
struct GrowingBody {
  using value_type = std::string;
  static std::uint64_t size(const value_type& body) { return body.size(); }

  class reader {  // NOLINT(readability-identifier-naming): the library asks for this name
   public:
    template <bool kRequest, typename Fields>
    reader(http::header<kRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, error_code& error) { error = {}; }
    template <typename Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      error = {};
      std::size_t taken = 0;
      for (const auto buffer : beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        taken += buffer.size();
      }
      return taken;
    }
    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

std::string too_large(std::uint64_t limit) {
  return "the body is too large: at most " + std::to_string(limit >> 20) + " MiB are accepted here";
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<GrowingBody> http;
  Parser() {
    http.eager(false);
    http.header_limit(kMostHeaderBytes);
    http.body_limit(boost::none);  // our own limit depends on the target
  }
};

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {}
RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::fail(int status, ErrorCode code, const std::string& message) {
  failed_ = true;
  failure_ = error_response(status, {code, message});
  return Step::kFailed;
}

RequestReader::Step RequestReader::header_done() {
  header_told_ = true;
  const auto& message = parser_->http.get();
  const std::string_view target(message.target());
  body_limit_ = body_limit(std::string_view(message.method_string()), target);
  const auto announced = parser_->http.content_length();
  if (announced && *announced > body_limit_) {
    return fail(413, ErrorCode::kExhausted, too_large(body_limit_));
  }
  return Step::kHeader;
}

RequestReader::Step RequestReader::feed(std::string_view bytes, std::size_t& used) {
  used = 0;
  if (failed_) return Step::kFailed;
  auto& parser = parser_->http;
  begun_ = begun_ || !bytes.empty();
  while (!parser.is_done()) {
    if (used == bytes.size()) return Step::kMore;
    error_code error;
    used += parser.put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
    if (error == http::error::need_more) return Step::kMore;
    if (error == http::error::header_limit) {
      return fail(431, ErrorCode::kExhausted,
                  "the header is too large: at most 64 KiB are accepted");
    }
    if (error) return fail(400, ErrorCode::kInvalidInput, "not HTTP/1.1: " + error.message());
    if (parser.is_header_done() && !header_told_) return header_done();
    if (parser.get().body().size() > body_limit_) {
      return fail(413, ErrorCode::kExhausted, too_large(body_limit_));
    }
  }
  return Step::kDone;
}

bool RequestReader::begun() const {
  return begun_;
}

std::string RequestReader::token() const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view value(parser_->http.get()[http::field::authorization]);
  const bool bearer = beast::iequals(value.substr(0, kScheme.size()), kScheme);
  return bearer ? std::string(value.substr(kScheme.size())) : std::string();
}

bool RequestReader::expects_continue() const {
  return beast::iequals(parser_->http.get()[http::field::expect], "100-continue");
}

HttpRequest RequestReader::take() {
  auto message = parser_->http.release();
  keep_alive_ = message.keep_alive();
  HttpRequest request;
  request.method = std::string_view(message.method_string());
  request.target = std::string_view(message.target());
  request.body = std::move(message.body());
  parser_ = std::make_unique<Parser>();
  header_told_ = false;
  begun_ = false;
  return request;
}

}  // namespace tutti
