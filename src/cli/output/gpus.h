#pragma once

#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "client/gpu_views.h"
#include "client/views.h"

namespace tutti {

// What users see of GPUs. All text from outside is made printable.

// The table of `gpus` and what is wrong, or why there are none.
std::string render_gpus(const GpusView& view, const Screen& screen);

// "4 × A100-80G (emulated), 1 × T4", in the order in which the types were met; empty for none.
std::string count_types(const std::vector<DeviceTypeView>& devices);
std::vector<DeviceTypeView> types_of(const std::vector<GpuView>& gpus);

// "eve: python x.py (pid 99)", "12.3", "lease 13": who uses a GPU, with commas.
std::string users_text(const GpuView& gpu);

// The lines of a task's block about its GPUs: what it was granted and what it used. Empty without.
std::string render_task_gpus(const TaskView& task);

// "41%".
std::string percent(double part);

}  // namespace tutti
