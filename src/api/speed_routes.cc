#include <boost/json.hpp>

#include "api/call.h"
#include "core/spec/text.h"
#include "wire/speed_json.h"
#include "wire/text_json.h"

namespace tutti {

namespace json = boost::json;

void get_speeds(const CallPtr& call) {
  call->services.front.speeds(reply_to<SpeedTable>(call, [call](const SpeedTable& speeds) {
    call->respond(json_response(200, speeds_to_json(speeds)));
  }));
}

void import_speeds(const CallPtr& call) {
  const auto value = parse_json(call->request.body);
  if (!value) return call->fail(value.error());
  const auto speeds = speeds_from_json(*value);
  if (!speeds) return call->fail(speeds.error());
  std::vector<SpeedChange> changes;
  for (const auto& [cell, speed] : speeds->entries()) changes.push_back({cell, speed});
  call->services.front.set_speeds(
      std::move(changes), reply_to<Changed>(call, [call](const Changed& changed) {
        call->respond(json_response(200, json::object{{"imported", changed.tasks}}));
      }));
}

void forget_speeds(const CallPtr& call) {
  call->services.front.speeds(reply_to<SpeedTable>(call, [call](const SpeedTable& speeds) {
    const std::string& model = call->target.segments[2];
    std::vector<SpeedChange> changes;
    for (const auto& [cell, speed] : speeds.entries())
      if (cell.run.name == model) changes.push_back({cell, std::nullopt});
    if (changes.empty())
      return call->fail(not_found("no speed of model " + shown(model) +
                                  " is known; `tutti profile ls --speeds` lists them"));
    call->services.front.set_speeds(
        std::move(changes), reply_to<Changed>(call, [call](const Changed& changed) {
          call->respond(json_response(200, json::object{{"forgotten", changed.tasks}}));
        }));
  }));
}

}  // namespace tutti
