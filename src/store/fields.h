#pragma once

#include <type_traits>

#include "control/store.h"
#include "core/lifecycle/event.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "store/codec.h"

namespace tutti {

// The field lists of what events and rows are made of, in stored order. Each is walked by a
// FieldWriter with a const record and by a FieldReader with a mutable one. A change here changes
// the stored format: raise kFormatVersion and write it down in docs/formats/.

void fields(auto& codec,
            auto& task) requires std::is_same_v<std::remove_cvref_t<decltype(task)>, TaskId> {
  codec.number(task.job);
  codec.number(task.index);
}

void fields(auto& codec, auto& attempt) requires
    std::is_same_v<std::remove_cvref_t<decltype(attempt)>, AttemptId> {
  fields(codec, attempt.task);
  codec.number(attempt.number);
}

void fields(auto& codec,
            auto& tasks) requires std::is_same_v<std::remove_cvref_t<decltype(tasks)>, TaskSet> {
  codec.choice(tasks.shape, TaskSet::Shape::kGang);
  codec.number(tasks.count);
  codec.number(tasks.first);
  codec.number(tasks.step);
  codec.number(tasks.max_parallel);
}

// The part of a request that few jobs state; the rest has columns of its own in the jobs table.
void rare_fields(auto& codec, auto& request) {
  codec.number(request.devices.count);
  codec.text(request.devices.type);
  codec.number(request.devices.memory);
  codec.number(request.devices.share);
  codec.list(request.labels, [&](auto& label) { codec.text(label); });
}

void fields(auto& codec, auto& request) requires
    std::is_same_v<std::remove_cvref_t<decltype(request)>, Request> {
  codec.number(request.cpus);
  codec.number(request.memory);
  codec.flag(request.limit_cpus);
  codec.flag(request.limit_memory);
  rare_fields(codec, request);
}

void dependency_fields(auto& codec, auto& dependencies) {
  codec.list(dependencies, [&](auto& dependency) {
    codec.number(dependency.job);
    codec.choice(dependency.when, Dependency::When::kFailure);
  });
}

void fields(auto& codec,
            auto& facts) requires std::is_same_v<std::remove_cvref_t<decltype(facts)>, JobFacts> {
  codec.number(facts.id);
  codec.text(facts.user);
  codec.text(facts.project);
  codec.text(facts.kind);
  fields(codec, facts.tasks);
  fields(codec, facts.request);
  codec.number(facts.priority);
  codec.number(facts.time_limit);
  codec.number(facts.retry.max);
  codec.number(facts.retry.backoff);
  dependency_fields(codec, facts.after);
}

void device_list_fields(auto& codec, auto& devices) {
  codec.list(devices, [&](auto& device) { codec.number(device); });
}

void fields(auto& codec, auto& allocation) requires
    std::is_same_v<std::remove_cvref_t<decltype(allocation)>, Allocation> {
  codec.number(allocation.node);
  codec.number(allocation.cpus);
  codec.number(allocation.memory);
  device_list_fields(codec, allocation.devices);
}

void fields(auto& codec, auto& outcome) requires
    std::is_same_v<std::remove_cvref_t<decltype(outcome)>, Outcome> {
  codec.choice(outcome.ending, Ending::kPreempted);
  codec.number(outcome.exit_code);
  codec.number(outcome.signal);
  codec.number(outcome.cpu_time);
  codec.number(outcome.peak_memory);
  codec.text(outcome.message);
}

// A node's size. What is free of it follows from the attempts that run, and is not stored.
void fields(auto& codec,
            auto& node) requires std::is_same_v<std::remove_cvref_t<decltype(node)>, Node> {
  codec.number(node.id);
  codec.text(node.name);
  codec.choice(node.state, Node::State::kDown);
  codec.text(node.state_reason);
  codec.number(node.cpus);
  codec.number(node.memory);
  codec.list(node.devices, [&](auto& device) {
    codec.number(device.id);
    codec.text(device.type);
    codec.text(device.uuid);
    codec.number(device.memory);
    codec.flag(device.healthy);
  });
  codec.list(node.labels, [&](auto& label) { codec.text(label); });
  codec.flag(node.keeps_backlog);
}

}  // namespace tutti
