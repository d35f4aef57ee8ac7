#include "telemetry/rocm_smi_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/process_shares.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTwoCards[] = R"json(WARNING: a card is in a low-power state
{"card0": {"GPU ID": "0x740f", "Unique ID": "0x1a2b", "Card Series": "AMD Instinct MI210",
  "PCI Bus": "0000:C3:00.0", "VRAM Total Memory (B)": "68702699520",
  "VRAM Total Used Memory (B)": "1073741824", "GPU use (%)": "37"},
 "card1": {"GPU ID": "0x740f", "Unique ID": "N/A", "Card series": "AMD Instinct MI210",
  "PCI Bus": "0000:03:00.0", "VRAM Total Memory (B)": 68702699520,
  "VRAM Total Used Memory (B)": "0", "GPU use (%)": "0"},
 "system": {"Driver version": "6.7.0"}})json";

TEST(RocmSmiText, cards_are_read_and_ordered_by_the_bus) {
  const auto cards = parse_rocm_smi_cards(kTwoCards);
  ASSERT_TRUE(cards) << cards.error().message;
  ASSERT_EQ(cards->size(), 2U);
  EXPECT_EQ((*cards)[0].index, 1U);
  EXPECT_EQ((*cards)[0].reading.uuid, "PCI-00000000:03:00.0");
  const GpuReading& second = (*cards)[1].reading;
  EXPECT_EQ(second.uuid, "GPU-0000000000001a2b");
  EXPECT_EQ(second.type, "MI210-64G");
  EXPECT_EQ(second.memory, MiB(65520));
  EXPECT_EQ(second.used, MiB(1024));
  EXPECT_EQ(second.utilization, MilliGpu(370));
  EXPECT_TRUE(second.amd);
}

TEST(RocmSmiText, a_card_without_a_name_is_called_after_its_chip) {
  const auto cards = parse_rocm_smi_cards(
      R"json({"card0": {"Card Series": "N/A", "Card Model": "0x7551", "GFX Version": "gfx1201",
          "VRAM Total Memory (B)": "34208743424"}})json");
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ((*cards)[0].reading.name, "AMD GPU gfx1201");
  EXPECT_EQ((*cards)[0].reading.type, "gfx1201-32G");
}

TEST(RocmSmiText, other_text_is_an_error) {
  const auto message = [](const char* text) {
    const auto cards = parse_rocm_smi_cards(text);
    return cards ? std::string("accepted") : cards.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("no '{'"));
  EXPECT_THAT(message(R"json({"card0": {}})json"), HasSubstr("the memory of card0"));
  EXPECT_THAT(message(R"json({"card0": {"VRAM Total Memory (B)": "-1"}})json"), HasSubstr("'-1'"));
  EXPECT_THAT(message(R"json({"cardX": {}})json"), HasSubstr("'cardX'"));
  EXPECT_THAT(message(R"json({"card0": []})json"), HasSubstr("no '{'"));
  EXPECT_THAT(message(R"json({"card0": {"a": [1]}})json"), HasSubstr("neither text"));
  EXPECT_THAT(message(R"json({"card0": {"a": "b)json"), HasSubstr("without end"));
  EXPECT_THAT(message(R"json({"card0": {"a": "\q"}})json"), HasSubstr("escape"));
  EXPECT_THAT(message(R"json({"a": {}} x)json"), HasSubstr("after the end"));
  EXPECT_THAT(message(R"json({"a": {"b": 1,}})json"), HasSubstr("no '\"'"));
}

constexpr char kProcesses[] =
    "============================ ROCm System Management Interface ============================\n"
    "===================================== KFD Processes ======================================\n"
    "KFD process information:\n"
    "PID    \tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\t\n"
    "71     \tmy program  \t2     \t2147483648\t0        \t0           \t\n"
    "72     \tpython3     \t1     \tUNKNOWN  \tUNKNOWN  \tUNKNOWN     \t\n"
    "73     \tkfd_open    \t0     \t0        \t0        \t0           \t\n"
    "==================================== GPUs Indexed by PID =================================\n"
    "PID 71 is using 2 DRM device(s):\n"
    "0 1 \n"
    "PID 72 is using 1 DRM device(s):\n"
    "0 \n"
    "PID 73 is using 0 DRM device(s)\n"
    "==========================================================================================\n";

TEST(RocmSmiText, processes_are_read_with_their_cards) {
  const auto list = parse_rocm_smi_processes(kProcesses);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ((*list)[0].pid, 71);
  EXPECT_EQ((*list)[0].memory, MiB(2048));
  EXPECT_THAT((*list)[0].cards, ElementsAre(0U, 1U));
  EXPECT_EQ((*list)[1].memory, kMemoryNotTold);
  EXPECT_TRUE((*list)[2].cards.empty());
}

TEST(RocmSmiText, memory_is_divided_over_the_cards_of_a_process) {
  auto cards = parse_rocm_smi_cards(kTwoCards);
  add_processes(*cards, *parse_rocm_smi_processes(kProcesses));
  const GpuReading& second = (*cards)[0].reading;  // card1
  ASSERT_EQ(second.processes.size(), 1U);
  EXPECT_EQ(second.processes[0].memory, MiB(1024));
  EXPECT_EQ((*cards)[1].reading.processes.size(), 2U);
}

TEST(RocmSmiText, no_processes_is_an_empty_list) {
  EXPECT_TRUE(parse_rocm_smi_processes("No KFD PIDs currently running\n")->empty());
}

}  // namespace
}  // namespace tutti
