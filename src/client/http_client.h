#pragma once

#include <functional>
#include <memory>

#include "client/client.h"
#include "client/endpoint.h"

namespace tutti {

// Called when nobody listens at the endpoint: may start a daemon. Success means "connect again".
using StartDaemon = std::function<Result<void>()>;

// Long enough for a million lines to reach a slow disk.
inline constexpr int kLongPatienceMs = 300'000;

// A client that speaks HTTP/1.1 with the daemon at `endpoint`. It connects at its first request and
// keeps the connection. A daemon that reports another API number is refused with kUnsupported; one
// that says nothing for `patience_ms`, or whose process is stopped, with kTimeout. Of a daemon over
// TCP that says nothing is asked on a second connection whether it answers at all.
std::unique_ptr<Client> make_http_client(Endpoint endpoint, StartDaemon start,
                                         int patience_ms = kLongPatienceMs);

// `text` as part of a query, with everything but letters, digits and -._~, escaped.
std::string query_escape(std::string_view text);

}  // namespace tutti
