#include "cli/session.h"

#include <boost/json.hpp>
#include <chrono>

#include "base/home.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "client/autostart.h"
#include "client/http_client.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

// Verbs about the daemon itself ask nothing that takes long, and are what one calls when it hangs.
constexpr int kShortPatienceMs = 20'000;

// Stands in for the daemon when not even its place is known.
class NoClient : public Client {
 public:
  explicit NoClient(Error error) : error_(std::move(error)) {}
  Result<boost::json::value> request(std::string_view, std::string_view,
                                     std::string_view) override {
    return error_;
  }
  Result<void> upload(std::string_view, std::string_view) override { return error_; }
  Result<void> download(std::string_view, const Sink&) override { return error_; }
  Result<void> stream(std::string_view, StreamListener&) override { return error_; }

 private:
  Error error_;
};

std::unique_ptr<Client> connect_home(bool may_start) {
  auto home = home_folder();
  if (!home) return std::make_unique<NoClient>(home.error());
  auto endpoint = find_endpoint(*home);
  if (!endpoint) return std::make_unique<NoClient>(endpoint.error());
  StartDaemon start;
  if (may_start && endpoint->local() && !autostart_forbidden()) {
    start = [place = *endpoint] {
      return start_daemon(place, own_program(), remembered_arguments(place.home));
    };
  }
  return make_http_client(*endpoint, start, may_start ? kLongPatienceMs : kShortPatienceMs);
}

}  // namespace

Client& Session::client() {
  if (client_ == nullptr) client_ = connect_home(true);
  return *client_;
}

Client& Session::running_client() {
  if (client_ == nullptr) client_ = connect_home(false);
  return *client_;
}

TimePoint Session::now() const {
  if (now_) return now_;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

void Session::report(const Error& error) {
  if (json_) {
    print_json(screen_, error_to_json(error));
    return;
  }
  std::string text = "tutti";
  if (!verb_.empty()) text += " " + verb_;
  text += ": ";
  // Messages may quote what a user or a log said; their own line ends are kept.
  std::string_view rest = error.message;
  while (true) {
    const auto end = rest.find('\n');
    text += printable(rest.substr(0, end)) + "\n";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  screen_.err(text);
}

int Session::fail(const Error& error) {
  report(error);
  return kExitFailure;
}

int Session::usage_error(const Error& error) {
  report(error);
  if (!json_) {
    const std::string verb = verb_.empty() ? "" : " " + verb_;
    screen_.err("Try 'tutti help" + verb + "'.\n");
  }
  return kExitUsage;
}

}  // namespace tutti
