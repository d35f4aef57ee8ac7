#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/client_connection.h"
#include "api/http.h"
#include "api/request_reader.h"
#include "api/services.h"

namespace tutti {

// Calls back once after a while, or not if it is set again or cancelled. Owned by a session.
class Alarm {
 public:
  virtual ~Alarm() = default;
  virtual void set(Duration delay, std::function<void()> ring) = 0;
  virtual void cancel() = 0;
};

// The conversation with one client: requests in, responses out, one at a time. Only while a chunked
// answer is sent, a few requests behind it are carried out, and their answers wait for its end. It
// reads nothing else while it answers and makes nothing while the client has not taken the last
// piece, so what it holds is bounded. Kept alive by its own pending operations; API thread only.
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
  // To a request that was read; without a response it is still being made.
  struct Answer {
    std::optional<HttpResponse> response;
    bool last = false;      // the connection ends with it
    bool bodiless = false;  // to HEAD: only the header is sent
  };
  void read();
  void take_bytes();
  bool may_read_request();
  bool header_allowed();
  void answer_request();
  void refuse_request(HttpResponse response);
  void respond(std::uint64_t number, HttpResponse response);
  void pump();
  bool begin_answer();
  bool add_piece();
  void add_chunk(const std::string& piece, bool end);
  void end_answer();
  void wait_for_source();
  void after_send();
  void send(std::string bytes, std::function<void()> then);
  void send_rest(std::size_t sent, std::function<void()> then);
  void linger();
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
  std::deque<Answer> answers_;  // oldest first; the first is being sent once it is begun
  std::uint64_t answered_ = 0;  // how many were there before them
  // Of the answer that is being sent:
  bool begun_ = false;
  std::shared_ptr<ByteSource> source_;
  std::uint64_t owed_ = 0;  // bytes of a body with a length that were not pulled yet
  bool streaming_ = false;  // its body has no length
  bool chunked_ = false;    // and does not end with the connection

  bool reading_ = false;      // a read is under way
  bool sending_ = false;      // a piece is on its way
  bool from_source_ = false;  // and a source gave some of it
  bool woken_ = false;        // something new came meanwhile
  bool finished_ = false;     // the last answer was made
  bool closed_ = false;
};

}  // namespace tutti
