#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/byte_source.h"
#include "base/result.h"

namespace tutti {

// Who asks: the user at the other end of the unix socket, or over TCP the daemon's owner.
struct Peer {
  std::string user;
  std::string home;
  std::int64_t pid = 0;    // zero: not known
  std::int64_t birth = 0;  // when that process started, as /proc/PID/stat says it; zero: not known
  bool here = false;       // at the unix socket, so on the daemon's machine
};

// A whole request, as routes see it. No socket is behind it, so that routes are tested and fuzzed
// without one.
struct HttpRequest {
  std::string method;
  std::string target;  // path and query, as sent
  std::string body;
  Peer peer;
};

// The answer to a request. With a `source` the body is pulled from it and `body` is empty: `length`
// bytes of it, or all until it ends. Then the connection is closed, unless the answer is chunked:
// in that case the client's next request is carried out even while the body is being sent.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;  // of 405: the methods that the path takes
  std::shared_ptr<ByteSource> source;
  std::optional<std::uint64_t> length;
  bool chunked = false;
};

// Called exactly once for each request, on the API's thread.
using Respond = std::function<void(HttpResponse)>;

HttpResponse json_response(int status, const boost::json::value& value);
HttpResponse error_response(const Error& error);
// For failures that HTTP has a status of its own for, such as 413.
HttpResponse error_response(int status, const Error& error);

// A request's target in its parts, all percent-decoded.
struct Target {
  std::vector<std::string> segments;                         // of the path
  std::vector<std::pair<std::string, std::string>> queries;  // each name once, in order

  // The value of a parameter; nothing when it is absent or empty.
  std::optional<std::string> query(std::string_view name) const;
  // Fails on a list of what is wanted that is there and empty: it must not mean everything.
  Result<void> named(std::string_view name) const;
  // Fails on a parameter that is not among `known`, naming the nearest.
  Result<void> allow_only(std::initializer_list<std::string_view> known) const;
};
Result<Target> parse_target(std::string_view text);

// How many jobs or tasks one answer lists at most.
inline constexpr std::uint64_t kMostListed = 1000;

// Parameters in the forms that routes take. Nothing when absent; errors name the parameter.
Result<std::optional<std::uint64_t>> query_number(const Target& target, std::string_view name,
                                                  std::uint64_t least, std::uint64_t most);
Result<bool> query_flag(const Target& target, std::string_view name);

}  // namespace tutti
