#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "client/views.h"

namespace tutti {

// How the adding of one machine went.
struct Joined {
  std::string name;
  std::optional<Error> error;  // why it is no node, or cannot be used
  boost::json::value node;     // as the daemon tells of it; null: it is none
};

// All nodes that the daemon knows.
Result<boost::json::value> fetch_nodes(Session& session);

// The node with that name in an answer of GET /v1/nodes, or null.
const boost::json::value* find_node(const boost::json::value& nodes, std::string_view name);

// Posts all of `requests` (bodies for POST /v1/nodes), then waits until each is reached or known
// not to be, at most half a minute. Those that cannot be used are removed again unless `keep`.
Result<std::vector<Joined>> join_machines(Session& session,
                                          const std::vector<boost::json::object>& requests,
                                          bool keep);

// Asks for fresh measurements of these nodes and waits for them, at most ten seconds. Returns the
// nodes as they are then; one that could not be measured has its old numbers, or none.
Result<boost::json::value> measure_nodes(Session& session, const std::vector<std::string>& names);

}  // namespace tutti
