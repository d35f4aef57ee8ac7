#pragma once

// What a fake libnvidia-ml.so.1 answers: a test opens the library, finds fake_nvml_world and writes
// to it. Several at once, built with and without the newer functions, stand for odd drivers.
extern "C" {

struct FakeNvmlWorld {
  int init_code;
  int count_code;
  unsigned count;
  int init_calls;
  int shutdown_calls;
  int device_codes[4];  // of everything that is asked of a device
  int uuid_codes[4];
  unsigned long long total;
  unsigned long long used;
  unsigned utilization;
  unsigned listed;               // processes in each list
  unsigned listed_told;          // the count that the list returns; zero: the true one
  unsigned long long memory[8];  // of each process, whose pid is its index + 100
  int samples_code;
  unsigned samples;
  unsigned sample_pids[8];
  unsigned sample_percents[8];
  unsigned long long sample_times[8];
  unsigned celsius;
  unsigned rows_pending;
  unsigned rows_failed;
  unsigned long long ecc;
};
}
