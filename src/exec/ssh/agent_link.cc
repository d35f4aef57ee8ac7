#include "exec/ssh/agent_link.h"

#include <unistd.h>

#include <utility>

#include "base/random_word.h"
#include "exec/ssh/agent_script.h"
#include "exec/ssh/shell_quote.h"

namespace tutti {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::size_t kMostNoise = 1 << 20;
constexpr char kKeepDays[] = "7";

}  // namespace

void AgentLink::open(TimePoint now) {
  close();
  trouble_.clear();
  hopeless_ = noisy_ = false;
  if (next_) command_ = *std::exchange(next_, std::nullopt);
  command_.use_socket(socket_ + "-" + random_word().substr(0, 8));
  auto started = PipedProcess::start(command_.master());
  if (!started) return fail(started.error().message);
  process_ = std::move(*started);
  state_ = State::kOpening;
  opened_at_ = now;
  nonce_ = random_word();
  process_.send(kAgentScript);
  process_.send("printf '\\ntutti-ready %s\\n' " + nonce_ + "\n");
  call("tutti_hello", {root_, kKeepDays});
}

void AgentLink::close() {
  if (process_.running()) ::unlink(command_.socket().c_str());
  process_ = PipedProcess();
  state_ = State::kClosed;
}

void AgentLink::fail(std::string why) {
  trouble_ = std::move(why);
  close();
}

void AgentLink::call(std::string_view function, const std::vector<std::string>& arguments) {
  std::string line(function);
  for (const std::string& argument : arguments) line += " " + shell_quoted(argument);
  process_.send(line + "\n");
}

bool AgentLink::serve(const pollfd* polled, TimePoint now,
                      const std::function<void(AgentMessage)>& take) {
  if (state_ == State::kClosed) return true;
  process_.serve(polled);
  if (!take_lines(take)) return false;
  if (process_.output_ended()) {
    const int status = process_.end();
    hopeless_ = needs_a_person(process_.errors);
    const bool was_up = state_ == State::kReady;
    std::string why = connection_trouble(command_, process_.errors, was_up ? 255 : status);
    fail(std::move(why));
    return false;
  }
  if (state_ == State::kOpening && now - opened_at_ > kOpenPatience) {
    fail(host_name_ + " does not answer: its login takes longer than " +
         std::to_string(kOpenPatience.value / 1000000) + " s");
    return false;
  }
  return true;
}

// False: what came makes no sense.
bool AgentLink::take_lines(const std::function<void(AgentMessage)>& take) {
  std::string& text = process_.output;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (state_ == State::kOpening) {
      // Start-up files of the login may print whatever they like before.
      if (line == "tutti-ready " + nonce_) state_ = State::kReady;
      noisy_ = noisy_ || (state_ == State::kOpening && !line.empty());
      continue;
    }
    Result<AgentMessage> message = parse_agent_line(line);
    if (!message) {
      fail(host_name_ + ": " + message.error().message);
      return false;
    }
    take(*std::move(message));
    if (state_ == State::kClosed) return false;
  }
  text.erase(0, begin);
  if (text.size() > (state_ == State::kOpening ? kMostNoise : kLongestLine)) {
    fail(host_name_ + " writes without end");
    return false;
  }
  return true;
}

}  // namespace tutti
