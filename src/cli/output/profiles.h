#pragma once

#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "client/gpu_views.h"

namespace tutti {

// What users see of profiles. All text from outside is made printable.

// The table of `profile ls`: a row for each kind, and one more for each further type of GPU.
std::string render_profiles(const std::vector<ProfileView>& profiles, const Screen& screen);

// The block of `profile show`, and what it means for the next run.
std::string render_profile(const ProfileView& profile, const Screen& screen);

}  // namespace tutti
