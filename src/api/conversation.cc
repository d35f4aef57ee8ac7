#include "api/conversation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/routes.h"
#include "api/secret.h"

namespace tutti {
namespace {

constexpr std::size_t kSmallRead = 8 * 1024;
constexpr std::size_t kLargeRead = 256 * 1024;
// While an answer is streamed little is expected, and there may be thousands of such connections.
constexpr std::size_t kTinyRead = 512;
// What may come behind a chunked answer: enough to give a lease back and to ask for the next.
constexpr std::size_t kMostAhead = 2;
constexpr std::size_t kMostBytesAhead = 64 * 1024;

const char* status_text(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "Internal Server Error";
  }
}

std::string header_of(const HttpResponse& response, bool chunked, bool close) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     status_text(response.status) + "\r\nContent-Type: " + response.content_type +
                     "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  const bool known = response.source == nullptr || response.length.has_value();
  if (known) {
    const std::uint64_t length = response.length.value_or(response.body.size());
    text += "Content-Length: " + std::to_string(length) + "\r\n";
  }
  if (chunked) text += "Transfer-Encoding: chunked\r\n";
  if (!response.allow.empty()) text += "Allow: " + response.allow + "\r\n";
  if (response.status == 401) text += "WWW-Authenticate: Bearer\r\n";
  if (close) text += "Connection: close\r\n";
  return text + "\r\n";
}

}  // namespace

Conversation::Conversation(const Services& services, const Threads& threads,
                           std::unique_ptr<ClientConnection> connection,
                           std::unique_ptr<Alarm> patience, std::unique_ptr<Alarm> poll,
                           Setup setup)
    : services_(services),
      setup_(std::move(setup)),
      threads_(threads),
      connection_(std::move(connection)),
      patience_(std::move(patience)),
      poll_(std::move(poll)) {}

Conversation::~Conversation() {
  if (setup_.on_end) setup_.on_end();
}

void Conversation::start() {
  if (setup_.impatient) give_up_after_pause();
  connection_->open([self = shared_from_this()](bool ok) { ok ? self->read() : self->close(); });
}

void Conversation::refuse(HttpResponse response) {
  give_up_after_pause();
  connection_->open([self = shared_from_this(), response = std::move(response)](bool ok) {
    ok ? self->refuse_request(response) : self->close();
  });
}

void Conversation::close() {
  if (closed_) return;
  closed_ = true;
  patience_->cancel();
  poll_->cancel();
  if (source_) source_->on_wake({});
  source_.reset();
  answers_.clear();
  connection_->close();
}

void Conversation::give_up_after_pause() {
  patience_->set(kPatience, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
}

void Conversation::read() {
  if (closed_ || reading_) return;
  reading_ = true;
  const std::size_t usual = reader_.begun() ? kLargeRead : kSmallRead;
  buffer_.resize(streaming_ ? kTinyRead : usual);
  connection_->read_some(buffer_.data(), buffer_.size(),
                         [self = shared_from_this()](bool ok, std::size_t bytes) {
                           self->reading_ = false;
                           if (!ok) return self->close();
                           self->input_.append(self->buffer_, 0, bytes);
                           self->take_bytes();
                         });
}

void Conversation::take_bytes() {
  while (!closed_ && may_read_request()) {
    std::size_t used = 0;
    const RequestReader::Step step = reader_.feed(input_, used);
    input_.erase(0, used);
    switch (step) {
      case RequestReader::Step::kMore:
        if (reader_.begun()) give_up_after_pause();
        return read();
      case RequestReader::Step::kHeader:
        if (!header_allowed()) return;
        break;
      case RequestReader::Step::kDone:
        answer_request();
        break;
      case RequestReader::Step::kFailed:
        refuse_request(reader_.failure());
        break;
    }
  }
}

// Otherwise reads on only to hear whether the client hangs up, where that matters.
bool Conversation::may_read_request() {
  if (answers_.empty() && !sending_ && !finished_) return true;
  if (!streaming_ && (sending_ || !finished_)) return false;
  const bool none_follows = finished_ || !chunked_ || answers_.back().last;
  if (none_follows) input_.clear();
  if (!none_follows && answers_.size() <= kMostAhead) return true;
  input_.size() > kMostBytesAhead ? close() : read();
  return false;
}

// Before a body is read: who may not ask need not send it either.
bool Conversation::header_allowed() {
  if (!setup_.token.empty() && !same_secret(reader_.token(), setup_.token)) {
    refuse_request(
        error_response(401, {ErrorCode::kDenied,
                             "the token is missing or wrong: send the content of the daemon's "
                             "token file as \"Authorization: Bearer TOKEN\""}));
    return false;
  }
  if (!reader_.expects_continue() || !input_.empty() || !answers_.empty()) return true;
  give_up_after_pause();
  send("HTTP/1.1 100 Continue\r\n\r\n", [this] { take_bytes(); });
  return false;
}

void Conversation::answer_request() {
  patience_->cancel();
  HttpRequest request = reader_.take();
  request.peer = setup_.peer;
  if (!reading_) buffer_ = {};
  const std::uint64_t number = answered_ + answers_.size();
  answers_.push_back({std::nullopt, !reader_.keep_alive(), request.method == "HEAD"});
  dispatch(services_, threads_, std::move(request),
           [self = shared_from_this(), number](HttpResponse response) {
             self->respond(number, std::move(response));
           });
}

void Conversation::refuse_request(HttpResponse response) {
  answers_.push_back({std::move(response), true, false});
  pump();
}

void Conversation::respond(std::uint64_t number, HttpResponse response) {
  const std::uint64_t position = number - answered_;
  if (closed_ || position >= answers_.size()) return;
  answers_[position].response = std::move(response);
  if (position == 0) pump();
}

// Sends what there is of the answers, in their order. Runs again when it is woken or polled.
void Conversation::pump() {
  if (closed_ || sending_) return;
  poll_->cancel();
  woken_ = from_source_ = false;
  while (output_.size() < ByteSource::kPiece && begin_answer() && add_piece()) end_answer();
  if (output_.empty()) {
    wait_for_source();
  } else {
    sending_ = true;
    if (!from_source_) give_up_after_pause();
    send(std::exchange(output_, {}), [this] { after_send(); });
  }
  if (streaming_) take_bytes();
}

bool Conversation::begin_answer() {
  if (begun_) return true;
  if (answers_.empty() || !answers_.front().response) return false;
  begun_ = true;
  auto& [response, last, bodiless] = answers_.front();
  if (bodiless) {
    output_ += header_of(*response, false, last);
    return true;
  }
  source_ = response->source;
  owed_ = response->length.value_or(0);
  streaming_ = source_ != nullptr && !response->length;
  chunked_ = streaming_ && response->chunked && !last;
  last = last || (streaming_ && !chunked_);
  output_ += header_of(*response, chunked_, last) + response->body;
  if (source_ == nullptr) return true;
  source_->on_wake([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->woken_ = true;
    self->threads_.api([self] { self->pump(); });
  });
  return true;
}

// Whether that was all.
bool Conversation::add_piece() {
  if (source_ == nullptr) return true;
  from_source_ = true;
  ByteSource::Next next = ByteSource::Next::kMore;
  std::string piece;
  while (next == ByteSource::Next::kMore && piece.size() < ByteSource::kPiece)
    next = source_->pull(piece);
  const bool end = next == ByteSource::Next::kEnd;
  owed_ -= std::min<std::uint64_t>(owed_, piece.size());
  if (end && owed_ > 0) answers_.front().last = true;  // less than announced: only the end tells
  chunked_ ? add_chunk(piece, end) : void(output_ += piece);
  return end;
}

void Conversation::add_chunk(const std::string& piece, bool end) {
  if (!piece.empty()) {
    std::array<char, 16> digits;
    const auto size = std::to_chars(digits.begin(), digits.end(), piece.size(), 16);
    output_.append(digits.data(), size.ptr).append("\r\n").append(piece).append("\r\n");
  }
  if (end) output_ += "0\r\n\r\n";
}

void Conversation::end_answer() {
  finished_ = answers_.front().last;
  answers_.pop_front();
  ++answered_;
  if (finished_) answers_.clear();
  source_.reset();
  begun_ = streaming_ = chunked_ = false;
}

void Conversation::wait_for_source() {
  if (source_ == nullptr) return;
  if (woken_) return threads_.api([self = shared_from_this()] { self->pump(); });
  if (const auto delay = source_->poll_after()) {
    poll_->set(*delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }
}

void Conversation::after_send() {
  sending_ = false;
  if (finished_) return linger();
  patience_->cancel();
  if (reader_.begun() || (setup_.impatient && answers_.empty())) give_up_after_pause();
  if (!answers_.empty()) return pump();
  output_ = {};
  take_bytes();
}

// Closing with unread bytes would take the answer away from a client that is still sending.
void Conversation::linger() {
  connection_->finish();
  patience_->set(kLinger, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  take_bytes();
}

void Conversation::send(std::string bytes, std::function<void()> then) {
  output_ = std::move(bytes);
  send_rest(0, std::move(then));
}

void Conversation::send_rest(std::size_t sent, std::function<void()> then) {
  if (closed_) return;
  if (sent == output_.size()) {
    output_.clear();
    return then();
  }
  connection_->write_some(
      output_.data() + sent, output_.size() - sent,
      [self = shared_from_this(), sent, then = std::move(then)](bool ok, std::size_t bytes) {
        if (!ok) return self->close();
        // Who follows a log in a pager may pause for ever.
        if (!self->from_source_) self->give_up_after_pause();
        self->send_rest(sent + bytes, then);
      });
}

}  // namespace tutti
