#pragma once

#include <type_traits>
#include <utility>
#include <vector>

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
  if (codec.since(2)) {
    codec.choice(request.devices.sharing, Sharing::kNever);
    codec.choice(request.devices.packing, Packing::kSpread);
  }
  codec.list(request.labels, [&](auto& label) { codec.text(label); });
  if (codec.since(4)) codec.number(request.ports);
  if (!codec.since(5)) return;
  codec.list(request.configurations, [&](auto& one) {
    codec.text(one.type);
    codec.number(one.count);
  });
}

void fields(auto& codec, auto& request) requires
    std::is_same_v<std::remove_cvref_t<decltype(request)>, Request> {
  codec.number(request.cpus);
  codec.number(request.memory);
  codec.flag(request.limit_cpus);
  codec.flag(request.limit_memory);
  rare_fields(codec, request);
}

void model_fields(auto& codec, auto& run) {
  codec.text(run.name);
  codec.number(run.parameters);
  codec.number(run.batch);
}

void cell_fields(auto& codec, auto& cell) {
  model_fields(codec, cell.run);
  codec.text(cell.shape.type);
  codec.number(cell.shape.nodes);
  codec.number(cell.shape.per_node);
  if (codec.since(6)) codec.number(cell.stages);
}

void rank_fields(auto& codec, auto& ranks) {
  codec.number(ranks.count);
  codec.number(ranks.parallel);
  fields(codec, ranks.request);
  codec.choice(ranks.failure.kind, FailureRule::Kind::kMinSucceeded);
  codec.number(ranks.failure.number);
  if (codec.since(7)) codec.flag(ranks.elastic);
}

void dependency_fields(auto& codec, auto& dependencies) {
  codec.list(dependencies, [&](auto& dependency) {
    codec.number(dependency.job);
    codec.choice(dependency.when, Dependency::When::kFailure);
  });
}

void node_limit_fields(auto& codec, auto& limits) {
  codec.list(limits, [&](auto& limit) {
    codec.text(limit.node);
    codec.number(limit.tasks);
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
  if (codec.since(2)) codec.flag(facts.lease);
  if (!codec.since(4)) return;
  codec.list(facts.ranks, [&](auto& ranks) { rank_fields(codec, ranks); });
  node_limit_fields(codec, facts.node_limits);
  if (codec.since(5)) model_fields(codec, facts.model);
}

void device_list_fields(auto& codec, auto& devices) {
  codec.list(devices, [&](auto& grant) {
    codec.number(grant.id);
    if (!codec.since(2)) return;
    codec.number(grant.memory);
    codec.number(grant.share);
  });
}

void fields(auto& codec, auto& allocation) requires
    std::is_same_v<std::remove_cvref_t<decltype(allocation)>, Allocation> {
  codec.number(allocation.node);
  codec.number(allocation.cpus);
  codec.number(allocation.memory);
  device_list_fields(codec, allocation.devices);
  if (codec.since(2)) codec.flag(allocation.measuring);
  if (codec.since(4)) codec.list(allocation.ports, [&](auto& port) { codec.number(port); });
}

void fields(auto& codec, auto& outcome) requires
    std::is_same_v<std::remove_cvref_t<decltype(outcome)>, Outcome> {
  codec.choice(outcome.ending, kLastEnding);
  codec.number(outcome.exit_code);
  codec.number(outcome.signal);
  codec.number(outcome.cpu_time);
  codec.number(outcome.peak_memory);
  codec.text(outcome.message);
  if (!codec.since(2)) return;
  codec.flag(outcome.device_measured);
  codec.number(outcome.device_memory);
  codec.number(outcome.device_share);
  codec.flag(outcome.preallocates);
}

// A node's size. What is free of it follows from the attempts that run, and is not stored.
void fields(auto& codec,
            auto& node) requires std::is_same_v<std::remove_cvref_t<decltype(node)>, Node> {
  codec.number(node.id);
  codec.text(node.name);
  codec.choice(node.state, Node::State::kGone);
  codec.text(node.state_reason);
  codec.number(node.cpus);
  codec.number(node.memory);
  codec.list(node.devices, [&](auto& device) {
    codec.number(device.id);
    codec.text(device.type);
    codec.text(device.uuid);
    codec.number(device.memory);
    codec.flag(device.healthy);
    if (!codec.since(2)) return;
    codec.text(device.trouble);
    codec.text(device.name);
    codec.flag(device.amd);
    codec.text(device.emulation);
    codec.number(device.foreign);
  });
  codec.list(node.labels, [&](auto& label) { codec.text(label); });
  codec.flag(node.keeps_backlog);
  if (!codec.since(3)) return;
  codec.text(node.remote.address);
  codec.text(node.remote.key);
  codec.text(node.remote.gpus);
  codec.number(node.remote.patience);
  codec.number(node.max_jobs);
  codec.number(node.foreign_cpus);
  codec.number(node.foreign_memory);
  if (!codec.since(4)) return;
  codec.text(node.address);
  codec.number(node.port_range.first);
  codec.number(node.port_range.last);
}

// A histogram is mostly empty: positions and values of what is not.
struct Bucket {
  std::uint32_t position = 0;
  std::uint32_t value = 0;
};

void profile_fields(auto& codec, auto& content, auto& buckets) {
  codec.number(content.samples);
  codec.number(content.recent_mean);
  codec.number(content.peak_memory);
  codec.list(buckets, [&](auto& bucket) {
    codec.number(bucket.position);
    codec.number(bucket.value);
  });
  if (!codec.since(2)) return;
  codec.list(content.devices, [&](auto& device) {
    codec.text(device.type);
    codec.number(device.samples);
    codec.list(device.peaks, [&](auto& peak) { codec.number(peak); });
    codec.number(device.share);
    codec.number(device.floor);
    codec.flag(device.preallocates);
  });
  if (!codec.since(5)) return;
  codec.list(content.times, [&](auto& time) {
    codec.text(time.type);
    codec.number(time.count);
    codec.number(time.samples);
    codec.number(time.mean);
  });
}

inline void write_profile(FieldWriter& writer, const Profile& profile) {
  const Profile::Content content = profile.content();
  std::vector<Bucket> buckets;
  for (std::uint32_t i = 0; i < Profile::kBuckets; ++i)
    if (content.buckets[i] != 0) buckets.push_back({i, content.buckets[i]});
  profile_fields(writer, content, std::as_const(buckets));
}

inline void read_profile(FieldReader& reader, Profile& profile) {
  Profile::Content content;
  std::vector<Bucket> buckets;
  profile_fields(reader, content, buckets);
  std::uint32_t next = 0;  // ascending and not empty: a profile has one encoding
  for (const Bucket& bucket : buckets) {
    if (bucket.position >= Profile::kBuckets || bucket.position < next || bucket.value == 0)
      return reader.fail();
    next = bucket.position + 1;
    content.buckets[bucket.position] = bucket.value;
  }
  profile = Profile::of(content);
}

}  // namespace tutti
