#include "client/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/process_stat.h"
#include "client/event_reader.h"
#include "client/http_client.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace http = boost::beast::http;
namespace json = boost::json;
using boost::beast::error_code;
using boost::beast::string_view;

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kApi = "1";
// After so long a silence is looked whether the daemon answers anybody at all.
constexpr int kSilenceMs = 5'000;
// So long one that does may take for a question that needs no work.
constexpr int kProbeMs = 5'000;

// Takes an answer apart. The body of a good answer goes to a sink as it comes; that of a refusal is
// kept, for its message.
class AnswerParser : public http::basic_parser<false> {
 public:
  explicit AnswerParser(const Client::Sink& sink) : sink_(sink) {
    body_limit(boost::none);
    header_limit(64 * 1024);
    eager(true);
  }

  int status() const { return status_; }
  const std::string& refusal() const { return refusal_; }
  const std::string& api() const { return api_; }
  const std::optional<Error>& sink_failure() const { return sink_failure_; }

 private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int, error_code&) override { status_ = code; }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    if (boost::beast::iequals(name, "Tutti-Api")) api_ = std::string(value);
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code& error) override {
    return take(body, error);
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& error) override {
    return take(body, error);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view body, error_code& error) {
    if (status_ >= 300) {
      refusal_.append(body.data(), body.size());
    } else if (auto taken = sink_({body.data(), body.size()}); !taken) {
      sink_failure_ = taken.error();
      error = http::make_error_code(http::error::end_of_stream);
    }
    return body.size();
  }

  const Client::Sink& sink_;
  int status_ = 0;
  std::string refusal_;
  std::string api_;
  std::optional<Error> sink_failure_;
};

Result<void> send_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      return Error{ErrorCode::kUnavailable,
                   io_error("the daemon at " + name + " went away", errno).message};
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

// The process that listens at the other end of a local connection; 0: not known.
pid_t peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

// Whether that process was stopped (SIGSTOP, Ctrl-Z). A slow one is waited for; this one may never
// answer.
bool is_stopped(pid_t pid) {
  const auto stat = pid > 0 ? process_stat(pid) : std::nullopt;
  return stat && stat->state == 'T';
}

// Whether bytes came. A wake comes before them: an interrupt must work however much a job prints.
bool readable(int fd, int wake_fd, int timeout_ms) {
  std::array<pollfd, 2> entries{{{fd, POLLIN, 0}, {wake_fd, POLLIN, 0}}};
  const int ready = ::poll(entries.data(), wake_fd >= 0 ? 2 : 1, timeout_ms);
  return ready > 0 && (entries[1].revents & POLLIN) == 0 && entries[0].revents != 0;
}

// Waiting for bytes, interruptible by a listener.
class Waiter {
 public:
  // Asked now and then while nothing comes, with what should interrupt it: whether nothing will.
  using Hangs = std::function<bool(int wake_fd)>;

  Waiter(StreamListener* listener, int patience_ms, Hangs hangs)
      : listener_(listener), patience_ms_(patience_ms), hangs_(std::move(hangs)) {}

  enum class Woken { kReadable, kEnough, kSilence };

  Woken wait(int fd) const {
    const auto since = SteadyClock::now();
    auto looked = since;
    while (true) {
      const int most = listener_ != nullptr ? listener_->wake_after_ms() : patience_ms_;
      const int wake_fd = listener_ != nullptr ? listener_->wake_fd() : -1;
      if (readable(fd, wake_fd, most < 0 ? kSilenceMs : std::min(most, kSilenceMs)))
        return Woken::kReadable;
      if (SteadyClock::now() - looked >= std::chrono::milliseconds(kSilenceMs)) {
        if (hangs_(wake_fd)) return Woken::kSilence;
        looked = SteadyClock::now();
      }
      const auto silence = SteadyClock::now() - since;
      if (listener_ != nullptr && listener_->on_wake() == StreamListener::Next::kStop)
        return Woken::kEnough;
      if (listener_ == nullptr && silence >= std::chrono::milliseconds(patience_ms_))
        return Woken::kSilence;
    }
  }

 private:
  StreamListener* listener_;
  int patience_ms_;
  Hangs hangs_;
};

class HttpClient : public Client {
 public:
  HttpClient(Endpoint endpoint, StartDaemon start, int patience_ms)
      : endpoint_(std::move(endpoint)), start_(std::move(start)), patience_ms_(patience_ms) {}

  Result<json::value> request(std::string_view method, std::string_view target,
                              std::string_view body) override {
    std::string answer;
    const Sink keep = [&answer](std::string_view piece) -> Result<void> {
      answer += piece;
      return {};
    };
    auto done = exchange(head(method, target, body, "application/json"), body, keep, nullptr);
    if (!done) return done.error();
    auto value = parse_json(answer);
    if (value) return value;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the answer of {} to {} {} is not JSON: {}", endpoint_.name(), method,
                             target, value.error().message)};
  }

  Result<void> upload(std::string_view target, std::string_view bytes) override {
    const Sink ignore = [](std::string_view) -> Result<void> { return {}; };
    return exchange(head("PUT", target, bytes, "application/octet-stream"), bytes, ignore, nullptr);
  }

  Result<void> download(std::string_view target, const Sink& sink) override {
    return exchange(head("GET", target, {}, {}), {}, sink, nullptr);
  }

  Result<void> stream(std::string_view target, StreamListener& listener) override {
    EventReader reader;
    bool stopped = false;
    const Sink feed = [&](std::string_view piece) -> Result<void> {
      for (const ServerEvent& event : reader.feed(piece)) {
        if (listener.on_event(event) == StreamListener::Next::kGoOn) continue;
        stopped = true;
        return Error{};
      }
      return {};
    };
    auto done = exchange(head("GET", target, {}, {}), {}, feed, &listener);
    if (stopped) return {};
    return done;
  }

 private:
  std::string head(std::string_view method, std::string_view target, std::string_view body,
                   std::string_view type) const {
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: tutti\r\n", method, target);
    if (!endpoint_.token.empty()) text += "Authorization: Bearer " + endpoint_.token + "\r\n";
    if (!body.empty() || method != "GET") {
      if (!type.empty()) text += fmt::format("Content-Type: {}\r\n", type);
      text += fmt::format("Content-Length: {}\r\n", body.size());
    }
    return text + "\r\n";
  }

  Result<UniqueFd> open_connection() {
    auto fd = connect_to(endpoint_);
    if (fd || fd.error().code != ErrorCode::kUnavailable || !start_) return fd;
    if (auto started = start_(); !started) return started.error();
    return connect_to(endpoint_);
  }

  // One request and its answer. The connection is taken out of the object meanwhile, so that a
  // listener may make other requests.
  Result<void> exchange(const std::string& head, std::string_view body, const Sink& sink,
                        StreamListener* listener) {
    const bool reused = static_cast<bool>(idle_);
    UniqueFd fd = std::move(idle_);
    if (!fd) {
      auto opened = open_connection();
      if (!opened) return opened.error();
      fd = std::move(*opened);
    }
    auto sent = body.size() < 64 * 1024 ? send_all(fd.get(), head + std::string(body), name())
                                        : send_all(fd.get(), head, name());
    if (sent && body.size() >= 64 * 1024) sent = send_all(fd.get(), body, name());
    // A refusal (too large, not allowed) may come before all was sent: read it in any case.
    AnswerParser parser(sink);
    auto received = receive(fd, parser, listener);
    if (!received && parser.status() == 0 && reused && head.starts_with("GET")) {
      return exchange(head, body, sink, listener);
    }
    if (!received && parser.status() == 0 && !sent) return sent.error();
    if (!received) return received.error();
    if (parser.is_done() && parser.keep_alive()) idle_ = std::move(fd);
    return verdict(parser);
  }

  Result<void> receive(const UniqueFd& fd, AnswerParser& parser, StreamListener* listener) const {
    std::string pending;
    std::array<char, 64 * 1024> chunk;
    std::optional<Error> fault;
    const Waiter waiter(listener, patience_ms_, [&](int wake_fd) {
      fault = fault_of_daemon(fd.get(), wake_fd);
      return fault.has_value();
    });
    while (!parser.is_done()) {
      const auto woken = waiter.wait(fd.get());
      if (woken == Waiter::Woken::kEnough) return {};
      if (woken == Waiter::Woken::kSilence) return fault ? *fault : no_answer(peer_of(fd.get()));
      const ssize_t got = ::recv(fd.get(), chunk.data(), chunk.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return at_end(parser);
      pending.append(chunk.data(), static_cast<std::size_t>(got));
      if (auto parsed = parse(parser, pending); !parsed) return parsed;
    }
    return {};
  }

  // What keeps the daemon from ever answering on this connection; nothing: it may be busy.
  std::optional<Error> fault_of_daemon(int fd, int wake_fd) const {
    if (endpoint_.local()) {
      const pid_t pid = peer_of(fd);
      return is_stopped(pid) ? std::optional(no_answer(pid)) : std::nullopt;
    }
    // Elsewhere nobody can look at its process. It refuses requests without a token at once,
    // whatever it is busy with.
    const auto probe = connect_to(endpoint_);
    if (!probe) return probe.error();
    if (!send_all(probe->get(), "GET /v1/status HTTP/1.1\r\nHost: tutti\r\n\r\n", name()))
      return std::nullopt;
    if (readable(probe->get(), wake_fd, kProbeMs)) return std::nullopt;
    if (wake_fd >= 0 && readable(wake_fd, -1, 0)) return std::nullopt;
    return Error{ErrorCode::kTimeout,
                 fmt::format("the daemon at {} does not answer (waited for {} s): its process is "
                             "stopped or hangs; see 'tutti doctor' there, or restart it",
                             name(), (kSilenceMs + kProbeMs) / 1000)};
  }

  Error no_answer(pid_t pid) const {
    const std::string who =
        fmt::format("the daemon at {}{}", name(), pid > 0 ? fmt::format(" (pid {})", pid) : "");
    if (is_stopped(pid)) {
      return {
          ErrorCode::kTimeout,
          fmt::format("{} does not answer: its process is stopped; 'kill -CONT {}' lets it go on",
                      who, pid)};
    }
    return {ErrorCode::kTimeout, fmt::format("{} does not answer (waited for {} s); see its log or "
                                             "restart it",
                                             who, patience_ms_ / 1000)};
  }

  Result<void> at_end(AnswerParser& parser) const {
    error_code error;
    if (parser.got_some()) parser.put_eof(error);
    if (parser.got_some() && !error) return {};
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("the daemon at {} closed the connection before its answer was complete",
                    name())};
  }

  Result<void> parse(AnswerParser& parser, std::string& pending) const {
    std::size_t used = 0;
    while (used < pending.size() && !parser.is_done()) {
      error_code error;
      const std::size_t taken = parser.put(
          boost::asio::const_buffer(pending.data() + used, pending.size() - used), error);
      used += taken;
      if (parser.sink_failure()) return *parser.sink_failure();
      if (error == http::error::need_more) break;
      if (error) {
        return Error{
            ErrorCode::kUnsupported,
            fmt::format("what answers at {} is not a Tutti daemon: {}", name(), error.message())};
      }
      if (taken == 0) break;
    }
    pending.erase(0, used);
    return {};
  }

  // What an answer means that came whole.
  Result<void> verdict(const AnswerParser& parser) const {
    if (!parser.api().empty() && parser.api() != kApi) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("the daemon at {} speaks API {}, this program API {}; restart it with "
                      "'tutti daemon restart'",
                      name(), parser.api(), kApi)};
    }
    if (parser.status() < 300) return {};
    auto value = parse_json(parser.refusal());
    if (value && value->is_object() && value->as_object().contains("error")) {
      return error_from_json(*value);
    }
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("what answers at {} (status {}) does not speak API {}; restart it with "
                    "'tutti daemon restart'",
                    name(), parser.status(), kApi)};
  }

  std::string name() const { return endpoint_.name(); }

  Endpoint endpoint_;
  StartDaemon start_;
  int patience_ms_;
  UniqueFd idle_;
};

}  // namespace

std::unique_ptr<Client> make_http_client(Endpoint endpoint, StartDaemon start, int patience_ms) {
  return std::make_unique<HttpClient>(std::move(endpoint), std::move(start), patience_ms);
}

std::string query_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

}  // namespace tutti
