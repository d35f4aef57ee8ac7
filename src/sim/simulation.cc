#include "sim/simulation.h"

#include <algorithm>

#include "base/check.h"
#include "sim/settle.h"

namespace tutti {

Simulation::Simulation(SimExecutor::Behaviour behaviour, std::function<ElasticRules()> elastic)
    : executor_(clock_, std::move(behaviour)), elastic_(std::move(elastic)) {
  restart_controller();
}

Simulation::~Simulation() = default;

template <typename T, typename Call>
Result<T> Simulation::ask(Call call) {
  std::unique_ptr<Result<T>> answer;
  call([&answer](Result<T> result) { answer = std::make_unique<Result<T>>(std::move(result)); });
  settle();
  TUTTI_CHECK(answer != nullptr);
  return std::move(*answer);
}

Result<Submitted> Simulation::submit(std::vector<JobSpec> specs, bool dry_run) {
  return ask<Submitted>([&](Reply<Submitted> reply) {
    controller_->submit(std::move(specs), dry_run, std::move(reply));
  });
}

Result<JobId> Simulation::submit(JobSpec spec) {
  const Result<Submitted> submitted = submit(std::vector{std::move(spec)}, false);
  if (!submitted) return submitted.error();
  return submitted->jobs.at(0);
}

Result<Changed> Simulation::cancel(JobId job, std::vector<std::uint32_t> tasks) {
  return ask<Changed>([&](Reply<Changed> reply) {
    controller_->cancel({{job, std::move(tasks)}}, std::move(reply));
  });
}

Result<Changed> Simulation::retry(JobId job, std::vector<std::uint32_t> tasks) {
  return ask<Changed>([&](Reply<Changed> reply) {
    controller_->retry({job, std::move(tasks)}, std::move(reply));
  });
}

Result<Changed> Simulation::set_speeds(std::vector<SpeedChange> changes) {
  return ask<Changed>(
      [&](Reply<Changed> reply) { controller_->set_speeds(std::move(changes), std::move(reply)); });
}

Result<Explanation> Simulation::explain(JobId job, std::uint32_t task) {
  return ask<Explanation>(
      [&](Reply<Explanation> reply) { controller_->explain(job, task, std::move(reply)); });
}

Result<Node> Simulation::set_node_state(const std::string& node, Node::State state,
                                        std::string reason) {
  return ask<Node>([&](Reply<Node> reply) {
    controller_->set_node_state(node, state, std::move(reason), std::move(reply));
  });
}

Result<Node> Simulation::set_node_limit(const std::string& node, std::uint32_t max_jobs) {
  return ask<Node>(
      [&](Reply<Node> reply) { controller_->set_node_limit(node, max_jobs, std::move(reply)); });
}

void Simulation::add_node(Node node) {
  executor_.set_node(std::move(node));
  settle();
}

void Simulation::settle() {
  due_ = tutti::settle(*controller_, executor_, store_, clock_);
}

TimePoint Simulation::next_due() const {
  const TimePoint next = executor_.next();
  if (!next || !due_) return next ? next : due_;
  return std::min(next, due_);
}

void Simulation::advance(Duration duration) {
  const TimePoint end = clock_.now() + duration;
  settle();
  for (TimePoint next = next_due(); next && next <= end; next = next_due()) {
    clock_.move_to(next);
    settle();
  }
  clock_.move_to(end);
}

bool Simulation::run_until_idle(Duration at_most) {
  const TimePoint end = clock_.now() + at_most;
  settle();
  for (TimePoint next = next_due(); next; next = next_due()) {
    if (next > end) return false;
    clock_.move_to(next);
    settle();
  }
  return true;
}

void Simulation::restart_controller() {
  executor_.detach();
  controller_.reset();
  controller_ = std::make_unique<Controller>(store_, executor_, clock_, publisher_);
  if (elastic_) controller_->set_elastic(elastic_());
  TUTTI_CHECK(controller_->start().has_value());
  settle();
}

void Simulation::kill_executor() {
  executor_.die();
  settle();
}

void Simulation::reconnect_executor() {
  executor_.come_back();
  settle();
}

TaskState Simulation::state_of(JobId job) {
  if (const Job* live = ledger().find_job(job)) return job_state(live->counts);
  const Result<JobRow> row = store_.load_job(job);
  TUTTI_CHECK(row.has_value());
  return row->state;
}

}  // namespace tutti
