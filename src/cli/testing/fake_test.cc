#include "cli/testing/fake.h"

#include <boost/json.hpp>

#include "wire/text_json.h"

namespace tutti {

Result<boost::json::value> FakeClient::request(std::string_view method, std::string_view target,
                                               std::string_view body) {
  const std::string key = std::string(method) + " " + std::string(target);
  log_.requests.push_back(key);
  if (!body.empty()) log_.last_body = body;
  if (!body.empty()) log_.bodies[key].emplace_back(body);
  const auto found = answers.find(key);
  auto& first = first_answers[key];
  if (first.empty() && found == answers.end()) return not_found("no answer for " + key);
  const std::string text = first.empty() ? found->second : first.front();
  if (!first.empty()) first.pop_front();
  auto value = parse_json(text);
  if (value && value->is_object() && value->as_object().contains("error")) {
    return error_from_json(*value);
  }
  return value;
}

Result<void> FakeClient::upload(std::string_view target, std::string_view bytes) {
  log_.requests.push_back("PUT " + std::string(target));
  log_.last_body = bytes;
  return {};
}

Result<void> FakeClient::download(std::string_view target, const Sink& sink) {
  log_.requests.push_back("GET " + std::string(target));
  const auto found = downloads.find(std::string(target));
  if (found == downloads.end()) return not_found("no log " + std::string(target));
  return sink(found->second);
}

Result<void> FakeClient::stream(std::string_view target, StreamListener& listener) {
  log_.requests.push_back("GET " + std::string(target));
  const auto found = streams.find(std::string(target));
  if (found == streams.end()) return not_found("no stream " + std::string(target));
  for (const ServerEvent& event : found->second) {
    if (listener.on_event(event) == StreamListener::Next::kStop) return {};
  }
  return {};
}

}  // namespace tutti
