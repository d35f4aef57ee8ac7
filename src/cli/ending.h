#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "cli/follow.h"
#include "cli/session.h"
#include "client/views.h"

namespace tutti {

// The exit status that stands for what was followed and has ended: its own.
int exit_status_of(const JobView& job);
int exit_status_of(const Followed& followed);

// For a job or task that did not simply exit, why it ended, or else what there is to say about it,
// in one line without an end; empty: nothing.
std::string ending_text(const JobView& job);
std::string ending_text(const Followed& followed);

// What is told in JSON of what was followed: its id, state and exit_code.
boost::json::object ended_json(const Followed& followed);

// Says on stderr why it ended, if its exit status alone does not tell: ending_text(), or which
// of several tasks failed, and how.
void say_ending(Session& session, const JobView& job);
void say_ending(Session& session, const Followed& followed);

}  // namespace tutti
