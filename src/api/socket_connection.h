#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <string>

#include "api/client_connection.h"
#include "base/result.h"

namespace tutti {

// A certificate and its key, ready for use. API thread only.
struct TlsContext;
Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string& certificate,
                                                     const std::string& key);

std::unique_ptr<ClientConnection> unix_connection(
    boost::asio::local::stream_protocol::socket socket);
std::unique_ptr<ClientConnection> tcp_connection(boost::asio::ip::tcp::socket socket);
std::unique_ptr<ClientConnection> tls_connection(boost::asio::ip::tcp::socket socket,
                                                 std::shared_ptr<TlsContext> context);

}  // namespace tutti
