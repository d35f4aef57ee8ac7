#include <algorithm>
#include <boost/json.hpp>

#include "api/call.h"
#include "api/profile_json.h"
#include "control/gpu_monitor.h"
#include "control/node_monitor.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

json::object holder_to_json(const DeviceHolder& holder, const DeviceGrant& grant,
                            const DeviceReading* reading) {
  json::object out;
  if (holder.lease) {
    out["lease"] = holder.attempt.task.job.value;
    out["pid"] = holder.pid;
  } else {
    out["job"] = holder.attempt.task.job.value;
    out["task"] = holder.label;
    out["attempt"] = holder.attempt.number;
  }
  out["user"] = text_to_json(holder.user);
  out["kind"] = text_to_json(holder.kind);
  out["granted_mib"] = grant.memory.value;
  std::int64_t used = 0;
  if (reading != nullptr) {
    const auto it = reading->used_by.find(holder.attempt);
    if (it != reading->used_by.end()) used = it->second.value;
  }
  out["used_mib"] = used;
  out["measuring"] = holder.allocation.measuring;
  return out;
}

json::object gpu_to_json(const Node& node, const Device& device, const DeviceHolders& held,
                         const DeviceReading* reading) {
  json::object out;
  out["index"] = device.id.value;
  out["node"] = text_to_json(node.name);
  out["uuid"] = text_to_json(device.uuid);
  out["name"] = text_to_json(device.name);
  out["type"] = text_to_json(device.type);
  out["memory_mib"] = device.memory.value;
  out["used_mib"] = reading != nullptr ? reading->used.value : 0;
  out["reserved_mib"] = device.reserved_memory.value;
  out["utilization"] =
      reading != nullptr ? static_cast<double>(reading->utilization.value) / 1000 : 0.0;
  out["emulated"] = !device.emulation.empty();
  out["healthy"] = device.healthy;
  out["reason"] = text_or_null(device.trouble);
  json::array attempts;
  json::array leases;
  for (const DeviceHolder& holder : held.holders) {
    if (holder.allocation.node != node.id) continue;
    for (const DeviceGrant& grant : holder.allocation.devices) {
      if (grant.id == device.id)
        (holder.lease ? leases : attempts).push_back(holder_to_json(holder, grant, reading));
    }
  }
  json::array foreign;
  if (reading != nullptr) {
    for (const ForeignProcess& process : reading->foreign)
      foreign.push_back({{"pid", process.pid},
                         {"user", text_to_json(process.user)},
                         {"command", text_to_json(process.command)},
                         {"used_mib", process.memory.value}});
  }
  out["attempts"] = std::move(attempts);
  out["leases"] = std::move(leases);
  out["foreign"] = std::move(foreign);
  return out;
}

// What the devices of a node were last seen to do.
std::vector<DeviceReading> readings_of(const Node& node, const GpuReport& here,
                                       const NodeMonitor* machines) {
  if (node.remote.address.empty()) return here.devices;
  std::vector<DeviceReading> readings;
  const auto measured = machines == nullptr ? std::nullopt : machines->latest(node.id);
  if (!measured) return readings;
  for (const MeasuredGpu& gpu : measured->gpus) {
    DeviceReading& reading = readings.emplace_back();
    reading.uuid = gpu.uuid;
    reading.used = gpu.used;
    reading.utilization = gpu.utilization;
  }
  return readings;
}

json::object gpus_to_json(const DeviceHolders& held, const GpuReport& report,
                          const NodeMonitor* machines) {
  json::array gpus;
  for (const Node& node : held.nodes) {
    const std::vector<DeviceReading> readings = readings_of(node, report, machines);
    for (const Device& device : node.devices) {
      const auto reading =
          std::find_if(readings.begin(), readings.end(),
                       [&](const DeviceReading& one) { return one.uuid == device.uuid; });
      gpus.push_back(
          gpu_to_json(node, device, held, reading == readings.end() ? nullptr : &*reading));
    }
  }
  json::array notes;
  for (const std::string& note : report.notes) notes.push_back(text_to_json(note));
  return {{"source", text_or_null(report.source)},
          {"trouble", text_or_null(report.trouble)},
          {"notes", std::move(notes)},
          {"gpus", std::move(gpus)}};
}

}  // namespace

// Reading a driver may take long, so it is not done on the API's thread.
void get_gpus(const CallPtr& call) {
  if (const auto only = call->target.allow_only({}); !only) return call->fail(only.error());
  call->threads.background([call] {
    auto report = call->services.gpus != nullptr ? call->services.gpus->read_now() : GpuReport();
    call->services.front.device_holders(
        reply_to<DeviceHolders>(call, [call, report](const DeviceHolders& held) {
          call->respond(json_response(200, gpus_to_json(held, report, call->services.machines)));
        }));
  });
}

void list_profiles(const CallPtr& call) {
  call->services.front.profiles(reply_to<Profiles>(call, [call](const Profiles& profiles) {
    json::array list;
    for (const auto& [kind, profile] : profiles) list.push_back(profile_to_json(kind, profile));
    call->respond(json_response(200, json::object{{"profiles", std::move(list)}}));
  }));
}

void get_profile(const CallPtr& call) {
  call->services.front.profiles(reply_to<Profiles>(call, [call](const Profiles& profiles) {
    const std::string& wanted = call->target.segments[2];
    for (const auto& [kind, profile] : profiles) {
      if (kind == wanted) return call->respond(json_response(200, profile_to_json(kind, profile)));
    }
    call->fail(not_found("nothing is known of kind " + shown(wanted) +
                         "; `tutti profile ls` lists the kinds"));
  }));
}

void forget_profile(const CallPtr& call) {
  const std::string kind = call->target.segments[2];
  call->services.front.set_profiles(
      {{kind, std::nullopt}}, reply_to<Changed>(call, [call, kind](const Changed&) {
        call->respond(json_response(200, json::object{{"kind", text_to_json(kind)}}));
      }));
}

void import_profiles(const CallPtr& call) {
  auto profiles = profiles_from_json(call->request.body);
  if (!profiles) return call->fail(profiles.error());
  call->services.front.set_profiles(
      std::move(*profiles), reply_to<Changed>(call, [call](const Changed& changed) {
        call->respond(json_response(200, json::object{{"imported", changed.tasks}}));
      }));
}

}  // namespace tutti
