#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/request.h"

namespace tutti {

// A GPU or a slice of one, with what is reserved on it.
struct Device {
  DeviceId id;
  std::string type;  // such as "A100-80G"
  std::string uuid;
  MiB memory;
  MiB reserved_memory;
  MilliGpu reserved_share;
  std::uint32_t holders = 0;  // attempts and leases that have it
  bool healthy = true;
  std::string trouble;  // why it is not healthy
  std::string name;     // the vendor's, such as "NVIDIA A100-SXM4-80GB"
  bool amd = false;
  std::string emulation;  // the file of its emulator's state; empty: a real device
  MiB foreign;            // memory of processes that Tutti did not start
  bool operator==(const Device&) const = default;
};

// What some waiting work wants of a device, and how much of the queue it is.
struct DeviceDemand {
  DeviceRequest wanted;
  double weight = 0;
};

// The machine that the daemon runs on is always this node.
inline constexpr NodeId kThisMachine{1};

// The TCP ports of a node that attempts may be granted. Usually below those that Linux gives out by
// itself (32768 and up), and away from what is mostly in use.
struct PortRange {
  std::uint32_t first = 20000;
  std::uint32_t last = 29999;
  std::uint32_t size() const { return last - first + 1; }
  bool operator==(const PortRange&) const = default;
};

// How a machine elsewhere is reached, as its owner said it.
struct Remote {
  std::string address;  // [user@]host[:port], or an alias of ssh's configuration; empty: here
  std::string key;      // file of the private key; empty: ssh's business
  std::string gpus;     // which of its GPUs to use, such as "0,2"; "none"; empty: all
  Duration patience = seconds(120);  // how long its attempts are kept when it is cut off
  bool operator==(const Remote&) const = default;
};

// A machine that runs attempts: its size, what is free of it, and whether it takes work.
struct Node {
  // kGone: it was removed, and its number is free for another. The numbers are stored: append only.
  enum class State : std::uint8_t { kUp = 0, kDraining = 1, kDown = 2, kGone = 3 };
  NodeId id;
  std::string name;
  State state = State::kUp;
  std::string state_reason;
  MilliCpu cpus;
  MiB memory;
  MilliCpu free_cpus;
  MiB free_memory;
  std::vector<Device> devices;
  std::vector<std::string> labels;  // sorted
  // Whether its executor keeps a backlog of short tasks and starts them without asking (Lane).
  bool keeps_backlog = false;
  Remote remote;
  std::uint32_t max_jobs = 0;  // attempts at once; zero: as many as fit
  std::uint32_t jobs = 0;      // attempts there now
  MilliCpu foreign_cpus;       // what others use of it, as far as that is measured
  MiB foreign_memory;
  // Where other nodes reach what listens there; empty: its name.
  std::string address;
  // Where it reaches the daemon's own machine; empty: not known. Not stored.
  std::string daemon_address;
  PortRange port_range;
  // Where among them to begin. Daemons of several users may share a machine and do not know of each
  // other's grants: each begins elsewhere. Not stored.
  std::uint32_t port_origin = 0;
  std::vector<std::uint32_t> ports;  // those that are granted; sorted
  bool operator==(const Node&) const = default;
};

const char* node_state_name(Node::State state);

// Whether work for `label` may run there: "a|b" means a or b, and a node's name is a label too.
bool has_label(const Node& node, std::string_view label);

// Whether a device of this type is what was asked for: "A100" means "A100-80G" too, and an empty
// wish means any.
bool is_of_type(std::string_view type, std::string_view wanted);

// Whether `request` would fit the empty node; infeasible ("never") as opposed to unavailable.
bool could_ever_fit(const Node& node, const Request& request);

// Whether `request` fits what is free of the node now. Says nothing about the node's state.
bool fits_now(const Node& node, const Request& request);

// The same without the devices in `kept`, which are for somebody else.
bool fits_beside(const Node& node, const Request& request, std::span<const DeviceId> kept);

// Whether others have memory that whoever was granted so much of the device, and holds it no more,
// should have had. A display server or a monitor does not count.
bool is_taken_by_others(const Device& device, MiB granted);

// How many devices of the node suffice now.
std::uint32_t devices_now(const Node& node, const DeviceRequest& wanted);

// The grant for a request that fits beside `kept`. Of the devices that suffice it takes those after
// which the expected part of the device that nobody in `demand` can use grows least, then the
// fullest; ties by id. With Packing::kSpread the emptiest. Ports are looked for from a place on
// that follows from `port_seed`, so that one that was just given back rests.
Allocation grant(const Node& node, const Request& request, std::span<const DeviceId> kept = {},
                 std::span<const DeviceDemand> demand = {}, std::uint64_t port_seed = 0);

void reserve(Node& node, const Allocation& allocation);
void release(Node& node, const Allocation& allocation);

// Takes over what the ledger counts (reservations, holders) from `before`; a device is the same if
// its UUID is. While devices of `before` are held, none is renumbered: those that are gone stay as
// unhealthy ones, new ones come last.
void carry_over_devices(const std::vector<Device>& before, std::vector<Device>& devices);

}  // namespace tutti
