#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/output/screen.h"
#include "cli/verb.h"
#include "client/client.h"

namespace tutti {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
// As a shell tells that SIGPIPE ended a program: nobody reads what it prints.
inline constexpr int kExitUnread = 141;

// What a running verb has at hand: the screen, the daemon and the time. One for each call of the
// program; used by one thread.
class Session {
 public:
  Session(const Entries& entries, Screen& screen) : entries_(entries), screen_(screen) {}

  const Entries& entries() const { return entries_; }
  Screen& screen() { return screen_; }

  // The daemon, connected (and started, if none runs) at the first request. A failure to find the
  // home is reported by every request.
  Client& client();
  // The daemon if one runs; none is started for it. For verbs about the daemon itself.
  Client& running_client();
  void use_client(std::unique_ptr<Client> client) { client_ = std::move(client); }
  // Forgets the connection: the daemon was stopped or started.
  void drop_client() { client_.reset(); }

  // Whether output is to be JSON.
  bool json() const { return json_; }
  void set_json(bool json) { json_ = json; }
  void set_verb(std::string_view name) { verb_ = name; }

  TimePoint now() const;
  // For tests: the time stands still.
  void set_now(TimePoint now) { now_ = now; }

  // Report an error, on stderr or as a JSON object on stdout; the result is the exit status.
  int fail(const Error& error);
  int usage_error(const Error& error);
  // An error about what was given is a usage error, any other a failure.
  int refuse(const Error& error) {
    return error.code == ErrorCode::kInvalidInput ? usage_error(error) : fail(error);
  }
  int usage_error(std::string message) { return usage_error(invalid_input(std::move(message))); }

 private:
  void report(const Error& error);

  const Entries& entries_;
  Screen& screen_;
  std::unique_ptr<Client> client_;
  bool json_ = false;
  std::string verb_;
  TimePoint now_;
};

}  // namespace tutti
