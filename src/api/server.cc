#include "api/server.h"

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "api/conversation.h"
#include "api/encode.h"
#include "api/event_hub.h"
#include "api/socket_connection.h"
#include "api/socket_file.h"
#include "base/process_stat.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;

// How many of the connections TCP may take, so that the unix socket is never locked out.
constexpr std::uint32_t kTcpPart = 2;
// How many may be told at once that there are too many: they need descriptors too.
constexpr std::size_t kMostRefused = 16;
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

class AsioAlarm : public Alarm {
 public:
  explicit AsioAlarm(asio::io_context& io) : timer_(io) {}
  void set(Duration delay, std::function<void()> ring) override {
    timer_.expires_after(std::chrono::microseconds(delay.value));
    timer_.async_wait([ring = std::move(ring)](error_code error) {
      if (!error) ring();
    });
  }
  void cancel() override { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

// "127.0.0.1:8080", "localhost:0" or "[::1]:8080".
Result<tcp::endpoint> endpoint_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port =
      colon == text.npos ? std::nullopt : parse_digits(text.substr(colon + 1), UINT16_MAX);
  std::string host = text.substr(0, port ? colon : 0);
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!port || error) {
    return invalid_input(shown(text) +
                         " is no address to listen on; write ADDRESS:PORT such as 127.0.0.1:8080");
  }
  return tcp::endpoint(address, static_cast<std::uint16_t>(*port));
}

}  // namespace

// Everything behind the server. Used on the API's thread between start() and stop(). Sessions share
// it, because the controller may reply to one of them when the server is gone.
struct Server::State : std::enable_shared_from_this<Server::State> {
  State(const ServerOptions& chosen, const Services& given)
      : options(chosen), services(given), background(1), delivery(io), owner(user_of(::geteuid())) {
    threads.api = [this](std::function<void()> work) { post(std::move(work)); };
    threads.background = [this](std::function<void()> work) {
      asio::post(background, std::move(work));
    };
    threads.stopping = [this] {
      const std::lock_guard lock(mutex);
      return stopped;
    };
  }

  // Drops the work when nobody is left to do it.
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    if (!stopped) asio::post(io, std::move(work));
  }
  Result<void> listen_unix();
  Result<void> listen_tcp();
  void accept_unix();
  void accept_tcp();
  void serve(std::unique_ptr<ClientConnection> connection, Conversation::Setup setup,
             bool over_tcp);
  void refuse(const std::shared_ptr<Conversation>& conversation);
  Peer peer_of(stream_protocol::socket& socket);
  void retry_accept(void (State::*accept)());
  void take_notice(EventHub::Haste haste);
  void deliver();
  void deliver_nodes();
  void learn_nodes();
  void run();
  void close();

  ServerOptions options;
  Services services;
  asio::io_context io{1};
  asio::thread_pool background;
  asio::steady_timer delivery;
  std::chrono::steady_clock::time_point delivered{};
  Threads threads;
  User owner;
  std::map<unsigned, User> users;
  std::optional<SocketFile> socket_file;
  std::optional<stream_protocol::acceptor> unix_acceptor;
  std::optional<tcp::acceptor> tcp_acceptor;
  std::shared_ptr<TlsContext> tls;
  std::uint16_t tcp_port = 0;
  std::map<Conversation*, std::weak_ptr<Conversation>> conversations;
  std::uint32_t tcp_conversations = 0;
  std::deque<std::weak_ptr<Conversation>> refused;  // oldest first; of some only the name is left
  bool closing = false;
  std::mutex mutex;  // guards `stopped`
  bool stopped = false;
  std::thread thread;
};

Result<void> Server::State::listen_unix() {
  auto file = SocketFile::listen(options.unix_path);
  if (!file) return file.error();
  socket_file.emplace(std::move(*file));
  unix_acceptor.emplace(io, stream_protocol(), socket_file->release());
  return {};
}

Result<void> Server::State::listen_tcp() {
  if (options.tcp.empty()) return {};
  if (options.token.empty()) {
    return invalid_input("listening on TCP needs a token; without one anybody could run commands");
  }
  if (!options.tls_certificate.empty()) {
    auto context = make_tls_context(options.tls_certificate, options.tls_key);
    if (!context) return context.error();
    tls = std::move(*context);
  }
  const auto endpoint = endpoint_of(options.tcp);
  if (!endpoint) return endpoint.error();
  error_code error;
  tcp_acceptor.emplace(io);
  tcp_acceptor->open(endpoint->protocol(), error);
  if (!error) tcp_acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) tcp_acceptor->bind(*endpoint, error);
  if (!error) tcp_acceptor->listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{ErrorCode::kUnavailable,
                 "cannot listen on " + options.tcp + ": " + error.message()};
  }
  tcp_port = tcp_acceptor->local_endpoint(error).port();
  return {};
}

Peer Server::State::peer_of(stream_protocol::socket& socket) {
  const auto peer = peer_credentials(socket.native_handle());
  if (!peer) return {};
  auto known = users.find(peer->uid);
  if (known == users.end()) known = users.emplace(peer->uid, user_of(peer->uid)).first;
  const auto stat = process_stat(peer->pid);
  return {known->second.name, known->second.home, peer->pid,
          stat ? static_cast<std::int64_t>(stat->start_ticks) : 0, true};
}

// Without descriptors every further attempt would fail at once: wait until some may be free.
void Server::State::retry_accept(void (State::*accept)()) {
  auto timer = std::make_shared<asio::steady_timer>(io, kAcceptPause);
  timer->async_wait([this, accept, timer](error_code) {
    if (!closing) (this->*accept)();
  });
}

void Server::State::accept_unix() {
  unix_acceptor->async_accept([this](error_code error, stream_protocol::socket socket) {
    if (closing) return;
    if (error) return retry_accept(&State::accept_unix);
    const Peer peer = peer_of(socket);
    if (!peer.user.empty()) {
      Conversation::Setup setup;
      setup.peer = peer;
      serve(unix_connection(std::move(socket)), std::move(setup), false);
    }
    accept_unix();
  });
}

void Server::State::accept_tcp() {
  tcp_acceptor->async_accept([this](error_code error, tcp::socket socket) {
    if (closing) return;
    if (error) return retry_accept(&State::accept_tcp);
    Conversation::Setup setup;
    setup.peer = {owner.name, owner.home};
    setup.token = options.token;
    setup.impatient = true;
    serve(tls ? tls_connection(std::move(socket), tls) : tcp_connection(std::move(socket)),
          std::move(setup), true);
    accept_tcp();
  });
}

void Server::State::serve(std::unique_ptr<ClientConnection> connection, Conversation::Setup setup,
                          bool over_tcp) {
  const bool full = conversations.size() >= options.most_connections ||
                    (over_tcp && tcp_conversations >= options.most_connections / kTcpPart);
  auto slot = std::make_shared<Conversation*>(nullptr);
  setup.on_end = [self = shared_from_this(), slot, over_tcp] {
    self->conversations.erase(*slot);
    if (over_tcp) --self->tcp_conversations;
  };
  const auto conversation = std::make_shared<Conversation>(
      services, threads, std::move(connection), std::make_unique<AsioAlarm>(io),
      std::make_unique<AsioAlarm>(io), std::move(setup));
  *slot = conversation.get();
  conversations[conversation.get()] = conversation;
  if (over_tcp) ++tcp_conversations;
  full ? refuse(conversation) : conversation->start();
}

// Whoever was refused long ago and did not hang up has to go for those that come now.
void Server::State::refuse(const std::shared_ptr<Conversation>& conversation) {
  std::erase_if(refused, [](const auto& weak) { return weak.expired(); });
  if (refused.size() == kMostRefused) {
    if (const auto oldest = refused.front().lock()) oldest->close();
    refused.pop_front();
  }
  refused.push_back(conversation);
  conversation->refuse(error_response(
      {ErrorCode::kUnavailable, "the daemon has too many connections; try again later"}));
}

void Server::State::take_notice(EventHub::Haste haste) {
  if (haste == EventHub::Haste::kNow) return services.events.deliver(haste);
  const auto due = delivered + std::chrono::microseconds(EventHub::kPause.value);
  if (std::chrono::steady_clock::now() >= due) return deliver();
  delivery.expires_at(due);
  delivery.async_wait([this](error_code error) {
    if (!error) deliver();
  });
}

void Server::State::deliver() {
  delivered = std::chrono::steady_clock::now();
  services.events.deliver(EventHub::Haste::kNextPause);
  deliver_nodes();
}

void Server::State::deliver_nodes() {
  const auto changed = services.events.take_changed_nodes();
  if (changed.empty()) return;
  services.front.status([self = shared_from_this(), changed](Result<Status> status) {
    if (!status) return;
    self->post([self, changed, status = std::move(*status)] {
      for (const Node& node : status.nodes) {
        const bool is_changed = std::find(changed.begin(), changed.end(), node.id) != changed.end();
        if (is_changed)
          self->services.events.deliver_node(node.name, json_text(node_to_json(node)));
      }
    });
  });
}

// Nodes that were known before this server started do not announce themselves again.
void Server::State::learn_nodes() {
  NodeNames& names = services.events.nodes();
  services.front.status([&names](Result<Status> status) {
    if (!status) return;
    for (const Node& node : status->nodes) names.set(node.id, node.name);
  });
}

void Server::State::run() {
  accept_unix();
  if (tcp_acceptor) accept_tcp();
  services.events.set_notify(
      [this](EventHub::Haste haste) { asio::post(io, [this, haste] { take_notice(haste); }); });
  learn_nodes();
  io.run();
}

void Server::State::close() {
  closing = true;
  error_code ignored;
  if (unix_acceptor) unix_acceptor->close(ignored);
  if (tcp_acceptor) tcp_acceptor->close(ignored);
  delivery.cancel();
  const auto open = conversations;
  for (const auto& [pointer, weak] : open) {
    if (const auto conversation = weak.lock()) conversation->close();
  }
}

Server::Server(ServerOptions options, Services services)
    : options_(std::move(options)), services_(std::move(services)) {}

Server::~Server() {
  stop();
}

Result<void> Server::start() {
  TUTTI_CHECK(state_ == nullptr);
  auto state = std::make_shared<State>(options_, services_);
  if (const auto tcp = state->listen_tcp(); !tcp) return tcp;
  if (const auto unix_socket = state->listen_unix(); !unix_socket) return unix_socket;
  state_ = std::move(state);
  state_->thread = std::thread([state = state_.get()] { state->run(); });
  return {};
}

void Server::stop() {
  if (state_ == nullptr) return;
  state_->services.events.set_notify({});
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    asio::post(state_->io, [state = state_.get()] { state->close(); });
  }
  state_->thread.join();  // it ends when the last cancelled operation is through
  state_->background.join();
  state_->socket_file.reset();
  state_.reset();
}

std::uint16_t Server::tcp_port() const {
  return state_ ? state_->tcp_port : std::uint16_t{0};
}

}  // namespace tutti
