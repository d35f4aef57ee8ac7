#include "store/record_codec.h"

#include <gtest/gtest.h>

#include "store/random_records.h"

namespace tutti {
namespace {

TEST(RecordCodec, every_record_comes_back_as_it_was) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRecords random(seed);
    std::string bytes;

    const TaskRow task = random.task_row({});
    TaskRow task_again;
    task_again.state = task.state;
    encode_task(task, bytes);
    ASSERT_TRUE(decode_task(bytes, task_again));
    ASSERT_EQ(task_again, task);

    const Node node = random.node();
    Node node_again;
    encode_node(node, bytes);
    ASSERT_TRUE(decode_node(bytes, node_again));
    ASSERT_EQ(node_again, node);

    const Profile profile = random.profile();
    Profile profile_again;
    encode_profile(profile, bytes);
    ASSERT_TRUE(decode_profile(bytes, profile_again));
    ASSERT_EQ(profile_again, profile);
  }
}

TEST(RecordCodec, shortened_records_and_other_versions_are_refused) {
  RandomRecords random(7);
  std::string bytes;
  encode_spec(random.spec(), bytes);
  JobSpec spec;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(decode_spec(std::string_view(bytes).substr(0, size), spec)) << size;
  ASSERT_TRUE(decode_spec(bytes, spec));
  bytes[0] = kRecordVersion + 1;
  EXPECT_FALSE(decode_spec(bytes, spec));
}

TEST(RecordCodec, line_numbers_of_a_file_without_gaps_take_a_few_bytes) {
  JobSpec spec;
  for (std::uint32_t number = 1; number <= 100000; ++number) spec.line_numbers.push_back(number);
  std::string bytes;
  encode_spec(spec, bytes);
  EXPECT_LT(bytes.size(), 40u);
  JobSpec again;
  ASSERT_TRUE(decode_spec(bytes, again));
  EXPECT_EQ(again.line_numbers, spec.line_numbers);
}

TEST(RecordCodec, a_damaged_run_of_line_numbers_does_not_take_all_memory) {
  JobSpec spec;
  spec.line_numbers = {0};
  std::string bytes;
  encode_spec(spec, bytes);
  // Before the six bytes of what follows the runs.
  bytes.replace(bytes.size() - 7, 1, "\xff\xff\xff\xff\x0f");
  EXPECT_FALSE(decode_spec(bytes, spec));
}

std::string shown(const Command& command) {
  JobSpec spec;
  spec.command = command;
  return display_text(spec);
}

TEST(DisplayText, shows_words_or_shell_text_or_a_script_s_name_and_arguments) {
  EXPECT_EQ(shown({{"python", "train.py"}, "", ""}), "python train.py");
  EXPECT_EQ(shown({{}, "a | b", ""}), "a | b");
  EXPECT_EQ(shown({{"hello.sh", "a", "b c"}, "", "#!/bin/sh\nset -eu\nmake all\n"}),
            "hello.sh a 'b c'");
}

TEST(DisplayText, shows_the_first_line_of_a_batch) {
  JobSpec spec;
  spec.lines = {"echo 1", "echo 2"};
  EXPECT_EQ(display_text(spec), "echo 1");
}

TEST(DisplayText, is_one_line_and_at_most_200_bytes) {
  EXPECT_EQ(shown({{}, "a\nb\tc\x1b", ""}), "a b c ");
  EXPECT_EQ(shown({{std::string(200, 'x')}, "", ""}), std::string(200, 'x'));
  const std::string cut = shown({{std::string(1000000, 'x'), "y"}, "", ""});
  EXPECT_EQ(cut, std::string(197, 'x') + "\u2026");
}

TEST(DisplayText, does_not_cut_a_character_in_two) {
  std::string text = "x";
  for (int i = 0; i < 100; ++i) text += "\u00e4\u20ac";
  const std::string cut = shown({{}, text, ""});
  EXPECT_LE(cut.size(), 200u);
  EXPECT_EQ(text.substr(0, cut.size() - 3) + "\u2026", cut);
  const char next = text[cut.size() - 3];
  EXPECT_NE(static_cast<unsigned char>(next) & 0xC0u, 0x80u);
}

}  // namespace
}  // namespace tutti
