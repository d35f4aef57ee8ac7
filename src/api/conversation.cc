#include "api/conversation.h"

#include <algorithm>

#include "api/routes.h"
#include "api/secret.h"

namespace tutti {
namespace {

constexpr std::size_t kSmallRead = 8 * 1024;
constexpr std::size_t kLargeRead = 256 * 1024;

const char* status_text(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
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

std::string header_of(const HttpResponse& response, bool close) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     status_text(response.status) + "\r\nContent-Type: " + response.content_type +
                     "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  const bool known = response.source == nullptr || response.length.has_value();
  if (known) {
    const std::uint64_t length = response.length.value_or(response.body.size());
    text += "Content-Length: " + std::to_string(length) + "\r\n";
  }
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
    self->last_ = true;
    ok ? self->respond(response) : self->close();
  });
}

void Conversation::close() {
  if (closed_) return;
  closed_ = true;
  patience_->cancel();
  poll_->cancel();
  if (source_) source_->on_wake({});
  source_.reset();
  connection_->close();
}

void Conversation::give_up_after_pause() {
  patience_->set(kPatience, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
}

void Conversation::read() {
  if (closed_) return;
  buffer_.resize(reader_.begun() ? kLargeRead : kSmallRead);
  connection_->read_some(buffer_.data(), buffer_.size(),
                         [self = shared_from_this()](bool ok, std::size_t bytes) {
                           if (!ok) return self->close();
                           self->input_.append(self->buffer_, 0, bytes);
                           self->take_bytes();
                         });
}

void Conversation::take_bytes() {
  while (!closed_) {
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
        return answer_request();
      case RequestReader::Step::kFailed:
        last_ = true;
        return respond(reader_.failure());
    }
  }
}

// Before a body is read: who may not ask need not send it either.
bool Conversation::header_allowed() {
  if (!setup_.token.empty() && !same_secret(reader_.token(), setup_.token)) {
    last_ = true;
    respond(error_response(401, {ErrorCode::kDenied,
                                 "the token is missing or wrong: send the content of the daemon's "
                                 "token file as \"Authorization: Bearer TOKEN\""}));
    return false;
  }
  if (!reader_.expects_continue() || !input_.empty()) return true;
  give_up_after_pause();
  send("HTTP/1.1 100 Continue\r\n\r\n", [this] { take_bytes(); });
  return false;
}

void Conversation::answer_request() {
  patience_->cancel();
  HttpRequest request = reader_.take();
  request.peer = setup_.peer;
  last_ = !reader_.keep_alive();
  buffer_ = {};
  dispatch(
      services_, threads_, std::move(request),
      [self = shared_from_this()](HttpResponse response) { self->respond(std::move(response)); });
}

void Conversation::respond(HttpResponse response) {
  if (closed_) return;
  streaming_ = response.source != nullptr && !response.length;
  last_ = last_ || streaming_;
  source_ = std::move(response.source);
  owed_ = response.length.value_or(0);
  response.source = source_;
  std::string bytes = header_of(response, last_);
  if (source_ == nullptr) {
    bytes += response.body;
    give_up_after_pause();
    return send(std::move(bytes), [this] { finish_response(); });
  }
  source_->on_wake([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->woken_ = true;
    self->threads_.api([self] { self->pump(); });
  });
  if (streaming_) watch_for_close();
  output_ = std::move(bytes);  // goes out together with the first piece
  owed_ += output_.size();
  pump();
}

void Conversation::finish_response() {
  source_.reset();
  output_ = {};
  if (last_) return linger();
  patience_->cancel();
  if (setup_.impatient) give_up_after_pause();
  take_bytes();
}

// Sends pieces of the source until it has nothing. Runs again when it is woken or polled.
void Conversation::pump() {
  if (closed_ || pumping_ || source_ == nullptr) return;
  poll_->cancel();
  woken_ = false;
  ByteSource::Next next = ByteSource::Next::kMore;
  while (next == ByteSource::Next::kMore && output_.size() < ByteSource::kPiece) {
    next = source_->pull(output_);
  }
  if (output_.empty() && next == ByteSource::Next::kWait) {
    if (woken_) return threads_.api([self = shared_from_this()] { self->pump(); });
    if (const auto delay = source_->poll_after()) {
      poll_->set(*delay, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->pump();
      });
    }
    return;
  }
  pumping_ = true;
  const bool end = next == ByteSource::Next::kEnd;
  owed_ -= std::min<std::uint64_t>(owed_, output_.size());
  if (end && !streaming_ && owed_ > 0) last_ = true;  // less than announced: only the end tells
  std::string bytes;
  bytes.swap(output_);
  send(std::move(bytes), [this, end] {
    pumping_ = false;
    end ? finish_response() : pump();
  });
}

// Closing with unread bytes would take the answer away from a client that is still sending.
void Conversation::linger() {
  connection_->finish();
  patience_->set(kLinger, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  if (streaming_) return;  // watch_for_close() reads already
  drain();
}

void Conversation::drain() {
  buffer_.resize(kSmallRead);
  connection_->read_some(buffer_.data(), buffer_.size(),
                         [self = shared_from_this()](bool ok, std::size_t) {
                           if (!ok || self->closed_) return self->close();
                           self->drain();
                         });
}

void Conversation::watch_for_close() {
  buffer_.resize(64);
  connection_->read_some(buffer_.data(), buffer_.size(),
                         [self = shared_from_this()](bool ok, std::size_t) {
                           if (!ok) return self->close();
                           if (!self->closed_) self->watch_for_close();
                         });
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
        if (self->source_ == nullptr) self->give_up_after_pause();
        self->send_rest(sent + bytes, then);
      });
}

}  // namespace tutti
