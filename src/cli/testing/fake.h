#pragma once

#include <boost/json/fwd.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "client/client.h"

namespace tutti {

// For tests: keeps what was printed.
class FakeScreen : public Screen {
 public:
  void out(std::string_view text) override { out_text += text; }
  void err(std::string_view text) override { err_text += text; }
  bool out_is_terminal() const override { return terminal; }
  bool err_is_terminal() const override { return terminal; }
  bool in_is_terminal() const override { return terminal; }
  int width() const override { return columns; }
  int height() const override { return rows; }
  bool colour() const override { return coloured; }
  bool broken() const override { return unread || full; }
  bool nobody_reads() const override { return unread; }
  std::string ask(std::string_view question) override {
    err_text += question;
    return answer;
  }

  std::string out_text;
  std::string err_text;
  std::string answer;
  bool terminal = false;
  bool coloured = false;
  bool unread = false;  // who read the output went away
  bool full = false;    // the disk on which the output goes
  int columns = 0;
  int rows = 0;
};

// For tests: answers from a script and keeps what was asked.
class FakeClient : public Client {
 public:
  // What was asked: "GET /v1/status", with the body after a blank where there is one.
  struct Log {
    std::vector<std::string> requests;
    std::string last_body;
    std::map<std::string, std::vector<std::string>> bodies;  // by "METHOD target"
  };
  explicit FakeClient(Log& log) : log_(log) {}

  // JSON text for "METHOD target"; an Error for anything else.
  std::map<std::string, std::string> answers;
  // Answers that come first, one for each request; then `answers` again.
  std::map<std::string, std::deque<std::string>> first_answers;
  std::map<std::string, std::string> downloads;             // by target
  std::map<std::string, std::vector<ServerEvent>> streams;  // by target

  Result<boost::json::value> request(std::string_view method, std::string_view target,
                                     std::string_view body) override;
  Result<void> upload(std::string_view target, std::string_view bytes) override;
  Result<void> download(std::string_view target, const Sink& sink) override;
  Result<void> stream(std::string_view target, StreamListener& listener) override;

 private:
  Log& log_;
};

}  // namespace tutti
