#pragma once

#include <sys/types.h>

#include <cstdint>

namespace tutti::emulator {

// When the process started, in the kernel's ticks since boot; 0 when there is no such process. With
// the pid it names a process for ever, because pids are used again.
std::uint64_t start_time_of(pid_t pid);

// The same of the calling process, also right after a fork.
std::uint64_t own_start_time();

// Whether all threads of the process have ended: a zombie holds no device memory.
bool has_ended(pid_t pid);

// Nanoseconds of the monotonic clock.
std::uint64_t monotonic_now();

}  // namespace tutti::emulator
