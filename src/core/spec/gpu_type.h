#pragma once

#include <string>
#include <string_view>

#include "base/units.h"

namespace tutti {

// Our short name of a kind of GPU, made of the vendor's name and the memory: "A100-80G" for
// "NVIDIA A100-SXM4-80GB". Holds only letters, digits, '.', '_' and '-'.
std::string type_of_gpu(std::string_view name, MiB memory);

// The same of a vendor's name alone, whose memory is what the name says of it: "A100-80G" for
// "NVIDIA-A100-SXM4-80GB", "RTX4000" for "Quadro-RTX-4000".
std::string type_of_product(std::string_view product);

}  // namespace tutti
