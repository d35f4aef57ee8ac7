#pragma once

#include <boost/json/fwd.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

// One server-sent event: its name and its data, which is JSON.
struct ServerEvent {
  std::string name;
  std::string data;
};

// Who listens to a stream of server-sent events. Called on the thread that called stream().
class StreamListener {
 public:
  enum class Next { kGoOn, kStop };

  virtual ~StreamListener() = default;
  virtual Next on_event(const ServerEvent& event) = 0;
  // Nothing came for a while, or wake_fd() became readable.
  virtual Next on_wake() { return Next::kGoOn; }
  // A descriptor whose readability interrupts the waiting; -1: none.
  virtual int wake_fd() const { return -1; }
  // How long to wait at most before on_wake(), in milliseconds; -1: for ever.
  virtual int wake_after_ms() const { return -1; }
};

// A conversation with a daemon: one request at a time, from one thread. Owned by the verb that
// runs. An interface, so that verbs are tested without a daemon.
class Client {
 public:
  using Sink = std::function<Result<void>(std::string_view)>;

  virtual ~Client() = default;

  // Sends a request with a JSON body (empty: none) and returns the JSON of the answer. An answer
  // that reports an error becomes that Error.
  virtual Result<boost::json::value> request(std::string_view method, std::string_view target,
                                             std::string_view body) = 0;
  // Sends raw bytes with PUT.
  virtual Result<void> upload(std::string_view target, std::string_view bytes) = 0;
  // Hands the bytes of the answer to `sink` as they come.
  virtual Result<void> download(std::string_view target, const Sink& sink) = 0;
  // Reads events until the server ends the stream or the listener has enough. Other requests may be
  // made from within the listener. kUnavailable: the daemon went away in the middle.
  virtual Result<void> stream(std::string_view target, StreamListener& listener) = 0;
};

}  // namespace tutti
