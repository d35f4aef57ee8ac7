#pragma once

#include <stddef.h>

// The emulator's own functions, exported by its libnvidia-ml.so.1 beside NVML's. All of them may be
// called from any thread of any process. Except for tutti_emulator_create they act on the file that
// the environment variable TUTTI_EMULATED_GPUS names, and return 0 or a negative errno:
//   -ENODEV     no such device, or a GPU that is split into MIG slices (name a slice)
//   -ENOMEM     the device has not that much memory left
//   -EIO        the device is lost or has vanished
//   -EINVAL     an argument is wrong
//   -ENOSPC     the table of processes is full
//   -ETIMEDOUT  somebody holds the file's lock and does not run
//   -ENXIO      TUTTI_EMULATED_GPUS is unset or names no file of emulated GPUs
// A device is named by its UUID, by a MIG slice's UUID, or by its index in NVML's order.

#ifdef __cplusplus
extern "C" {
#endif

// Tells an emulated library from a real one: only this one exports it.
extern const char tutti_emulator_version[];

// Creates the file at `path` with the devices of `spec`, such as "4xA100-80G",
// "2xA100-80G,1xRTX3090-24G" or "A100-80G/mig3x20G". A file that has these devices already is kept
// as it is, with what living processes hold, so that a daemon may start again; one with other
// devices is replaced, and those who use the old one keep it. On failure the text for the user is
// in `error`.
int tutti_emulator_create(const char* path, const char* spec, char* error, size_t error_size);

// Adds `bytes` to what the calling process holds on the device. It ends with the process.
int tutti_emulator_allocate(const char* device, unsigned long long bytes);

// Gives `bytes` back, or all when the process holds less.
int tutti_emulator_free(const char* device, unsigned long long bytes);

// States how much of the device the calling process would keep busy if it were alone: 0 to 100.
int tutti_emulator_set_utilization(const char* device, unsigned int percent);

// "ok", "ecc" (uncorrectable errors), "lost" (fell off the bus), "hot" (thermal slowdown) or
// "vanished" (not enumerated any more). Of a MIG slice: its GPU.
int tutti_emulator_set_fault(const char* device, const char* fault);

// From now on every NVML call of every process returns this error; 0 makes them work again.
int tutti_emulator_fail(int nvml_error);

#ifdef __cplusplus
}
#endif
