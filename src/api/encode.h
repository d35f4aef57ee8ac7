#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>

#include "api/node_names.h"
#include "api/services.h"
#include "control/front.h"
#include "control/history.h"
#include "control/node_monitor.h"

namespace tutti {

// The JSON objects of answers: docs/api/openapi.yaml, schemas Job, Task, Node, Explanation, Status.

// `task`: the row of a job's only task, if it has one.
boost::json::object job_to_json(const JobSummary& job, const std::optional<TaskRow>& task,
                                const NodeNames& nodes);

// What a task's object says that is not in its row.
struct TaskPlace {
  std::int64_t label = 0;
  std::optional<std::uint32_t> line;  // of a batch
  std::string command;
  std::string group;        // of a rank: the name of its workers
  std::string stdout_path;  // empty: it has not run yet
  std::string stderr_path;
};
boost::json::object task_to_json(const TaskRow& row, const TaskPlace& place,
                                 const NodeNames& nodes);

// `measured`: null if it never was.
boost::json::object node_to_json(const Node& node, const NodeMeasurement* measured = nullptr,
                                 const std::vector<NodeTransfer>& transfers = {});
// Of a dry run: where each rank of a gang would run; an empty array for what is no gang.
boost::json::array plan_to_json(const std::vector<RankPlan>& plan);
boost::json::object explanation_to_json(const Explanation& explanation, const TaskSet& tasks,
                                        TimePoint now);
boost::json::object status_to_json(const StatusFacts& facts, const Status& status,
                                   const TaskCounts& jobs);
boost::json::object changed_to_json(const Changed& changed);

}  // namespace tutti
