#include "api/socket_connection.h"

#include <boost/asio.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>

#include "core/spec/text.h"

namespace tutti {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct TlsContext {
  asio::ssl::context ssl{asio::ssl::context::tls_server};
};

namespace {

// Unix and TCP sockets alike.
class PlainConnection : public ClientConnection {
 public:
  explicit PlainConnection(asio::generic::stream_protocol::socket socket)
      : socket_(std::move(socket)) {}

  void open(std::function<void(bool)> done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done(true); });
  }
  void read_some(char* data, std::size_t size, Done done) override {
    socket_.async_read_some(
        asio::buffer(data, size),
        [done = std::move(done)](error_code error, std::size_t bytes) { done(!error, bytes); });
  }
  void write_some(const char* data, std::size_t size, Done done) override {
    socket_.async_write_some(
        asio::buffer(data, size),
        [done = std::move(done)](error_code error, std::size_t bytes) { done(!error, bytes); });
  }
  void finish() override {
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  asio::generic::stream_protocol::socket socket_;
};

class TlsConnection : public ClientConnection {
 public:
  TlsConnection(tcp::socket socket, std::shared_ptr<TlsContext> context)
      : context_(std::move(context)), stream_(std::move(socket), context_->ssl) {}

  void open(std::function<void(bool)> done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](error_code error) { done(!error); });
  }
  void read_some(char* data, std::size_t size, Done done) override {
    stream_.async_read_some(
        asio::buffer(data, size),
        [done = std::move(done)](error_code error, std::size_t bytes) { done(!error, bytes); });
  }
  void write_some(const char* data, std::size_t size, Done done) override {
    stream_.async_write_some(
        asio::buffer(data, size),
        [done = std::move(done)](error_code error, std::size_t bytes) { done(!error, bytes); });
  }
  void finish() override {
    error_code ignored;
    stream_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
  }
  void close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  std::shared_ptr<TlsContext> context_;
  asio::ssl::stream<tcp::socket> stream_;
};

// Answers are small and waited for; a client whose machine is gone is noticed in the end.
void set_tcp_options(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
}

}  // namespace

Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string& certificate,
                                                     const std::string& key) {
  auto context = std::make_shared<TlsContext>();
  error_code error;
  context->ssl.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                               asio::ssl::context::no_tlsv1_1,
                           error);
  if (!error) context->ssl.use_certificate_chain_file(certificate, error);
  if (error) {
    return invalid_input("cannot use the certificate " + shown(certificate) + ": " +
                         error.message());
  }
  context->ssl.use_private_key_file(key.empty() ? certificate : key, asio::ssl::context::pem,
                                    error);
  if (error) return invalid_input("cannot use the key " + shown(key) + ": " + error.message());
  return context;
}

std::unique_ptr<ClientConnection> unix_connection(asio::local::stream_protocol::socket socket) {
  return std::make_unique<PlainConnection>(std::move(socket));
}

std::unique_ptr<ClientConnection> tcp_connection(tcp::socket socket) {
  set_tcp_options(socket);
  return std::make_unique<PlainConnection>(std::move(socket));
}

std::unique_ptr<ClientConnection> tls_connection(tcp::socket socket,
                                                 std::shared_ptr<TlsContext> context) {
  set_tcp_options(socket);
  return std::make_unique<TlsConnection>(std::move(socket), std::move(context));
}

}  // namespace tutti
