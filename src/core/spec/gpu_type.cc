#include "core/spec/gpu_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace tutti {
namespace {

// Vendors, brands, form factors and kinds of memory: they tell nothing that the rest does not.
constexpr std::array<std::string_view, 36> kDropped = {
    "nvidia", "amd",   "ati",  "geforce", "tesla",  "quadro", "radeon",      "instinct", "graphics",
    "gpu",    "pcie",  "pci",  "sxm",     "sxm2",   "sxm3",   "sxm4",        "sxm5",     "sxm6",
    "hbm2",   "hbm2e", "hbm3", "hbm3e",   "nvl",    "oam",    "mcm",         "ac",       "mba",
    "tm",     "r",     "max",  "q",       "design", "laptop", "workstation", "server",   "edition",
};
constexpr std::array<std::string_view, 2> kDroppedTails = {"generation", "accelerator"};

// GiB that GPUs and their slices are sold with.
constexpr std::array<std::int64_t, 34> kSizes = {
    1,  2,  3,  4,  5,  6,  8,  10,  11,  12,  16,  18,  20,  22,  24,  32,  36,
    40, 48, 64, 71, 80, 94, 96, 128, 141, 144, 160, 180, 186, 192, 256, 288, 384};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
}

// What follows a '/' is another name of the same thing.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : name.substr(0, std::min(name.find('/'), std::size_t{100}))) {
    if (!is_word_character(c)) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    words.back() += c;
  }
  return words;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "80GB", "80G", and "1g.5gb" as slices are called.
bool is_size(std::string_view lowered) {
  const std::size_t digits = std::min(lowered.find_first_not_of("0123456789"), lowered.size());
  const std::string_view unit = lowered.substr(digits);
  return digits > 0 && (unit == "gb" || unit == "g" || unit == "gib" || unit.starts_with("g."));
}

bool is_dropped(std::string_view lowered) {
  const auto listed = [&](const auto& list) {
    return std::find(list.begin(), list.end(), lowered) != list.end();
  };
  return listed(kDropped) || listed(kDroppedTails) || is_size(lowered);
}

std::string short_name(const std::vector<std::string>& words) {
  std::string out;
  bool slice = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string lowered = lower(words[i]);
    if (lowered == "mig") {
      slice = true;
      continue;
    }
    if (is_dropped(lowered)) continue;
    const bool size_in_two_words =
        all_digits(lowered) && i + 1 < words.size() && lower(words[i + 1]) == "gb";
    if (size_in_two_words) {
      ++i;
      continue;
    }
    out += words[i];
  }
  if (out.empty()) {
    for (const std::string& word : words) out += word;
  }
  if (out.empty()) out = "GPU";
  return slice ? out + "-MIG" : out;
}

// Drivers report less than what is sold (a part is kept back for ECC and for themselves), rarely a
// little more.
std::int64_t usual_gib(MiB memory) {
  const std::int64_t least = memory.value - memory.value / 100;
  for (const std::int64_t gib : kSizes) {
    if (gib * 1024 >= least) return gib;
  }
  return (memory.value + 512) / 1024;
}

}  // namespace

std::string type_of_gpu(std::string_view name, MiB memory) {
  std::string type = short_name(words_of(name));
  if (memory.value > 0) type += "-" + std::to_string(usual_gib(memory)) + "G";
  return type;
}

std::string type_of_product(std::string_view product) {
  const std::vector<std::string> words = words_of(product);
  for (const std::string& word : words) {
    const std::string lowered = lower(word);
    const std::size_t digits = std::min(lowered.find_first_not_of("0123456789"), lowered.size());
    const bool plain = lowered.substr(digits) == "gb" || lowered.substr(digits) == "g";
    if (digits > 0 && digits <= 4 && plain)
      return type_of_gpu(product, MiB(std::stoll(lowered.substr(0, digits)) * 1024));
  }
  return type_of_gpu(product, MiB(0));
}

}  // namespace tutti
