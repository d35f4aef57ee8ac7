#include "emulator/show.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/unique_fd.h"
#include "emulator/gpu_use.h"
#include "emulator/out_of_memory_text.h"

namespace tutti::emulator {
namespace {

// The command line in printable characters, shortened.
std::string command_of(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[60];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  std::string command;
  for (ssize_t i = 0; i < size; ++i) command += text[i] < ' ' || text[i] > '~' ? ' ' : text[i];
  return command;
}

std::string device_row(LockedGpus& gpus, int unit) {
  const Unit& shown = gpus->units[unit];
  const std::string index =
      shown.slice < 0 ? std::to_string(index_of(gpus, unit)) : " /" + std::to_string(shown.slice);
  const bool vanished = fault_of(gpus, unit) == Fault::kVanished;
  char row[256];
  std::snprintf(row, sizeof row, "%-5s  %-14s  %-40s  %11s  %11s  %4u%%  %s\n",
                vanished ? "-" : index.c_str(), shown.type, shown.uuid,
                size_text(used_memory(gpus, unit)).c_str(), size_text(shown.memory).c_str(),
                total_demand(gpus, unit),
                kFaultNames[static_cast<std::size_t>(fault_of(gpus, unit))].data());
  return row;
}

std::string process_rows(LockedGpus& gpus, int unit) {
  std::string rows;
  for_each_holding(gpus, unit, [&](const Holding& holding) {
    if (holding.unit != unit) return;
    char row[256];
    std::snprintf(row, sizeof row, "%8d  %-40s  %11s  %4u%%  %s\n", holding.pid,
                  gpus->units[unit].uuid, size_text(holding.bytes).c_str(), holding.demand,
                  command_of(holding.pid).c_str());
    rows += row;
  });
  return rows;
}

}  // namespace

std::string show_gpus(GpuFile& file) {
  LockedGpus gpus(file);
  if (!gpus.ok()) return "the file's lock is held by a process that does not run\n";
  std::string text = std::string("emulated GPUs ") + gpus->spec + "\n";
  if (gpus->failure != 0)
    text += "every NVML call fails with error " + std::to_string(gpus->failure) + "\n";
  char head[256];
  std::snprintf(head, sizeof head, "%-5s  %-14s  %-40s  %11s  %11s  %5s  %s\n", "INDEX", "TYPE",
                "UUID", "USED", "TOTAL", "BUSY", "STATE");
  text += head;
  std::string processes;
  for (int unit = 0; unit < gpus->unit_count; ++unit) {
    text += device_row(gpus, unit);
    processes += process_rows(gpus, unit);
  }
  if (processes.empty()) return text + "no processes\n";
  std::snprintf(head, sizeof head, "\n%8s  %-40s  %11s  %5s  %s\n", "PID", "DEVICE", "MEMORY",
                "BUSY", "COMMAND");
  return text + head + processes;
}

}  // namespace tutti::emulator
