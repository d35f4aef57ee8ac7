#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/http.h"
#include "api/services.h"

namespace tutti {

// One operation of the API. A part of the pattern in braces stands for any one segment.
struct Route {
  std::string_view method;
  std::string_view pattern;  // such as "/v1/jobs/{id}"
  std::string_view name;     // the operationId of docs/api/openapi.yaml
};

// All of them. A test compares them with docs/api/openapi.yaml.
std::vector<Route> routes();

// Answers a request: exactly one call of `respond`, now or later, on the API's thread.
void dispatch(const Services& services, const Threads& threads, HttpRequest request,
              Respond respond);

// How large a body may be for this request, in bytes.
std::uint64_t body_limit(std::string_view method, std::string_view target);

}  // namespace tutti
