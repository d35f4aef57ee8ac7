#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/client_connection.h"
#include "api/http.h"
#include "api/request_reader.h"
#include "api/services.h"

namespace tutti {

// Calls back once after a while, or not if it is set again or cancelled. Owned by a conversation.
class Alarm {
 public:
  virtual ~Alarm() = default;
  virtual void set(Duration delay, std::function<void()> ring) = 0;
  virtual void cancel() = 0;
};

// The conversation with one client: requests in, responses out, one at a time. It reads nothing
// while it answers and makes nothing while the client has not taken the last piece, so what it
// holds is bounded. Kept alive by its own pending operations; API thread only.
class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  // How long a client may pause in the middle of a request or of taking a plain answer.
  static constexpr Duration kPatience = seconds(30);
  // How long a client may take to hang up after its last answer.
  static constexpr Duration kLinger = seconds(5);

  struct Setup {
    Peer peer;
    std::string token;       // required when not empty
    bool impatient = false;  // the first request must come within kPatience, too
    std::function<void()> on_end;
  };
  Conversation(const Services& services, const Threads& threads,
               std::unique_ptr<ClientConnection> connection, std::unique_ptr<Alarm> patience,
               std::unique_ptr<Alarm> poll, Setup setup);
  ~Conversation();

  void start();
  // Answers with this and closes: for a client that cannot be served.
  void refuse(HttpResponse response);
  void close();

 private:
  void read();
  void take_bytes();
  bool header_allowed();
  void answer_request();
  void respond(HttpResponse response);
  void send(std::string bytes, std::function<void()> then);
  void send_rest(std::size_t sent, std::function<void()> then);
  void finish_response();
  void linger();
  void drain();
  void pump();
  void watch_for_close();
  void give_up_after_pause();

  const Services& services_;
  Setup setup_;  // first of all: its on_end may hold what the rest lives on
  Threads threads_;
  std::unique_ptr<ClientConnection> connection_;
  std::unique_ptr<Alarm> patience_;
  std::unique_ptr<Alarm> poll_;

  RequestReader reader_;
  std::string input_;   // bytes that came and are not used yet
  std::string buffer_;  // what read_some() writes into
  std::string output_;
  std::shared_ptr<ByteSource> source_;
  std::uint64_t owed_ = 0;  // bytes of a response with a length that were not pulled yet
  bool streaming_ = false;  // without a length: the end of the body is the end of the connection
  bool pumping_ = false;    // a piece is on its way
  bool woken_ = false;      // something new came meanwhile
  bool last_ = false;       // the connection ends with this response
  bool closed_ = false;
};

}  // namespace tutti
