#include "telemetry/rocm_smi_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include "core/spec/text.h"
#include "telemetry/driver_text.h"
#include "telemetry/flat_json.h"
#include "telemetry/gpu_type.h"
#include "telemetry/process_shares.h"

namespace tutti {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
constexpr std::uint64_t kMostPid = std::uint64_t{1} << 31;
constexpr std::uint64_t kMostCards = 1024;

Error not_understood(const std::string& how) {
  return {ErrorCode::kUnsupported, "rocm-smi wrote something that is not understood: " + how};
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// The first of these fields that is there and holds something.
std::string_view field(const FlatObject& card, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const auto& [key, value] : card) {
      if (same_letters(key, name) && !value.empty() && value != "N/A" && value != "null") {
        return value;
      }
    }
  }
  return {};
}

std::uint64_t hex_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

// "0000:81:00.0" with the domain in eight digits, as other sources write it.
std::string long_bus_text(std::string_view text) {
  std::string out = printable_text(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t colon = out.find(':');
  if (colon != std::string::npos && colon < 8) out.insert(0, 8 - colon, '0');
  return out;
}

// "12" or "12.5".
std::optional<std::uint64_t> percent(std::string_view text) {
  return parse_digits(text.substr(0, text.find('.')), 1000);
}

Result<RocmSmiCard> parse_card(unsigned index, const FlatObject& fields) {
  const std::string card_name = "card" + std::to_string(index);
  RocmSmiCard card;
  card.index = index;
  GpuReading& reading = card.reading;
  reading.amd = true;
  const std::string_view total = field(fields, {"VRAM Total Memory (B)"});
  const std::string_view used = field(fields, {"VRAM Total Used Memory (B)"});
  const auto bytes = parse_digits(total, kMostBytes);
  const auto used_bytes = parse_digits(used, kMostBytes);
  if (!bytes) return not_understood("the memory of " + card_name + " is " + shown(total));
  if (!used_bytes && !used.empty()) {
    return not_understood("the used memory of " + card_name + " is " + shown(used));
  }
  reading.memory = mib_from_bytes(*bytes);
  reading.used = mib_from_bytes(used_bytes.value_or(0));
  const std::string_view use = field(fields, {"GPU use (%)"});
  const auto busy = percent(use);
  if (!busy && !use.empty()) return not_understood("GPU use of " + card_name + " is " + shown(use));
  reading.utilization = share_from_percent(busy.value_or(0));
  reading.name = printable_text(
      field(fields, {"Card series", "Device Name", "Card model", "Card SKU", "GFX Version"}));
  // Some versions write a number where they know no name.
  if (reading.name.empty() || reading.name.starts_with("0x")) {
    const std::string other = printable_text(field(fields, {"Device Name", "GFX Version"}));
    reading.name = "AMD GPU" + (other.empty() ? "" : " " + other);
  }
  reading.pci_bus = long_bus_text(field(fields, {"PCI Bus"}));
  if (reading.pci_bus.empty()) reading.pci_bus = pci_bus_text(~0U, index, 0, 0);
  reading.uuid = rocm_uuid(hex_number(field(fields, {"Unique ID"})), reading.pci_bus);
  reading.type = type_of_gpu(reading.name, reading.memory);
  return card;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r[],"), line.size()));
    if (line.empty()) return out;
    out.push_back(line.substr(0, line.find_first_of(" \t\r[],")));
    line.remove_prefix(out.back().size());
  }
}

RocmSmiProcess& process_with(std::vector<RocmSmiProcess>& all, std::uint64_t pid) {
  for (RocmSmiProcess& process : all) {
    if (process.pid == static_cast<std::int64_t>(pid)) return process;
  }
  all.push_back({static_cast<std::int64_t>(pid), kMemoryNotTold, {}});
  return all.back();
}

// A row of the table: pid, a name that may hold blanks, how many GPUs, VRAM, SDMA, CU occupancy.
void take_row(const std::vector<std::string_view>& row, std::vector<RocmSmiProcess>& all) {
  if (row.size() < 6) return;
  const auto pid = parse_digits(row[0], kMostPid);
  const auto gpus = parse_digits(row[row.size() - 4], kMostCards);
  const auto bytes = parse_digits(row[row.size() - 3], kMostBytes);
  if (!pid || !gpus) return;
  process_with(all, *pid).memory = bytes ? mib_from_bytes(*bytes) : kMemoryNotTold;
}

}  // namespace

std::string rocm_uuid(std::uint64_t unique_id, std::string_view pci_bus) {
  if (unique_id == 0) return "PCI-" + std::string(pci_bus);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "GPU-%016llx",
                static_cast<unsigned long long>(unique_id));
  return text.data();
}

std::vector<std::string> rocm_smi_card_arguments() {
  return {"--showid",      "--showuniqueid", "--showproductname", "--showbus",
          "--showmeminfo", "vram",           "--showuse",         "--json"};
}

std::vector<std::string> rocm_smi_process_arguments() {
  return {"--showpids", "--showpidgpus"};
}

Result<std::vector<RocmSmiCard>> parse_rocm_smi_cards(std::string_view text) {
  // Warnings may stand before.
  text.remove_prefix(std::min(text.find('{'), text.size()));
  const auto table = parse_flat_json(text);
  if (!table) return not_understood(table.error().message);
  std::vector<RocmSmiCard> cards;
  for (const auto& [key, fields] : *table) {
    if (!key.starts_with("card")) continue;
    const auto index = parse_digits(std::string_view(key).substr(4), kMostCards);
    if (!index) return not_understood("a card called " + shown(key));
    auto card = parse_card(static_cast<unsigned>(*index), fields);
    if (!card) return card.error();
    for (const RocmSmiCard& other : cards) {
      if (other.reading.uuid == card->reading.uuid) {
        return not_understood("two cards with the number " + shown(other.reading.uuid));
      }
    }
    cards.push_back(std::move(*card));
  }
  std::stable_sort(cards.begin(), cards.end(), [](const RocmSmiCard& a, const RocmSmiCard& b) {
    return a.reading.pci_bus < b.reading.pci_bus;
  });
  return cards;
}

Result<std::vector<RocmSmiProcess>> parse_rocm_smi_processes(std::string_view text) {
  std::vector<RocmSmiProcess> processes;
  std::optional<std::uint64_t> listed;  // whose cards the next line tells
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto row = words(line);
    if (row.size() >= 4 && row[0] == "PID" && row[2] == "is" && row[3] == "using") {
      listed = parse_digits(row[1], kMostPid);
      if (!listed) return not_understood("a process with the number " + shown(row[1]));
      process_with(processes, *listed);
      continue;
    }
    const auto card = row.empty() ? std::nullopt : parse_digits(row[0], kMostCards);
    if (listed && card) {
      for (const std::string_view word : row) {
        const auto index = parse_digits(word, kMostCards);
        if (!index) return not_understood("a list of cards with " + shown(word));
        process_with(processes, *listed).cards.push_back(static_cast<unsigned>(*index));
      }
      listed.reset();
      continue;
    }
    listed.reset();
    take_row(row, processes);
  }
  return processes;
}

void add_processes(std::vector<RocmSmiCard>& cards, const std::vector<RocmSmiProcess>& processes) {
  for (const RocmSmiProcess& process : processes) {
    const auto used = std::max<std::int64_t>(1, static_cast<std::int64_t>(process.cards.size()));
    const MiB each =
        process.memory == kMemoryNotTold ? kMemoryNotTold : MiB(process.memory.value / used);
    for (const unsigned index : process.cards) {
      for (RocmSmiCard& card : cards) {
        if (card.index == index) card.reading.processes.push_back({process.pid, each, {}});
      }
    }
  }
  for (RocmSmiCard& card : cards) {
    merge_processes(card.reading.processes);
    fill_in_memory(card.reading.processes, card.reading.used);
    share_utilization(card.reading.processes, card.reading.utilization);
  }
}

}  // namespace tutti
