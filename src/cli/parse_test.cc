#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

using Words = std::vector<std::string>;

Result<Arguments> parse(const Verb& verb, const Words& words) {
  return parse_arguments(verb, words);
}

TEST(Parse, options_end_where_the_command_begins) {
  const auto parsed = parse(kRunVerb, {"-n", "x", "--cpus=2", "python", "-n", "--cpus", "3"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value("name"), "x");
  EXPECT_EQ(parsed->value("cpus"), "2");
  EXPECT_EQ(parsed->words(), (Words{"python", "-n", "--cpus", "3"}));
  EXPECT_FALSE(parsed->after_dashes());
}

TEST(Parse, two_dashes_end_the_options) {
  const auto parsed = parse(kSubmitVerb, {"-q", "--", "-x", "--", "y"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->has("quiet"));
  EXPECT_EQ(parsed->words(), (Words{"-x", "--", "y"}));
  EXPECT_TRUE(parsed->after_dashes());
}

TEST(Parse, short_options_may_be_joined_and_hold_their_value) {
  const auto parsed = parse(kSubmitVerb, {"-qfnname", "true"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->has("quiet"));
  EXPECT_TRUE(parsed->has("follow"));
  EXPECT_EQ(parsed->value("name"), "name");
}

TEST(Parse, values_may_look_like_options_or_lists) {
  const auto parsed =
      parse(kSubmitVerb, {"--priority", "-5", "--env", "A=[1,2]", "--env", "B=--x", "--", "true"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->value("priority"), "-5");
  EXPECT_EQ(parsed->list("env"), (Words{"A=[1,2]", "B=--x"}));
}

TEST(Parse, words_and_options_mix_where_there_is_no_command) {
  const auto parsed = parse(kLogsVerb, {"12", "-f", "--tail", "5"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->words(), Words{"12"});
  EXPECT_EQ(parsed->value("tail"), "5");
}

TEST(Parse, lists_take_all_words_up_to_the_next_option) {
  const auto parsed = parse(kExecuteBatchVerb, {"--machines", "a", "b", "--copy-forward", "x", "y",
                                                "--machines=c", "FILE"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->list("machines"), (Words{"a", "b", "c"}));
  EXPECT_EQ(parsed->list("copy-forward"), (Words{"x", "y"}));
  EXPECT_EQ(parsed->words(), Words{"FILE"});
  const auto dashes = parse(kExecuteBatchVerb, {"--machines", "a", "b", "--", "FILE"});
  ASSERT_TRUE(dashes) << dashes.error().message;
  EXPECT_EQ(dashes->list("machines"), (Words{"a", "b"}));
  EXPECT_EQ(dashes->words(), Words{"FILE"});
  EXPECT_FALSE(parse(kExecuteBatchVerb, {"FILE", "--machines"}));
}

TEST(Parse, an_unknown_option_names_the_nearest) {
  const auto parsed = parse(kSubmitVerb, {"--cpu", "2", "--", "true"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "unknown option '--cpu', did you mean '--cpus'?");
}

TEST(Parse, wrong_calls_are_refused) {
  EXPECT_FALSE(parse(kSubmitVerb, {}));
  EXPECT_FALSE(parse(kSubmitVerb, {"--name"}));
  EXPECT_FALSE(parse(kSubmitVerb, {"-Z", "--", "true"}));
  EXPECT_FALSE(parse(kRunVerb, {"--quiet=5", "--", "true"}));
  EXPECT_FALSE(parse(kBatchVerb, {}));
  EXPECT_FALSE(parse(kBatchVerb, {"a", "b"}));
  EXPECT_FALSE(parse(kLsVerb, {"--state"}));
  EXPECT_FALSE(parse(kShowVerb, {}));
  EXPECT_FALSE(parse(kLogsVerb, {"1", "2"}));
  EXPECT_FALSE(parse(kExplainVerb, {}));
  EXPECT_FALSE(parse(kCancelVerb, {}));
  EXPECT_FALSE(parse(kWaitVerb, {"1", "2"}));
  EXPECT_FALSE(parse(kRetryVerb, {}));
  EXPECT_FALSE(parse(kDoctorVerb, {"x"}));
  EXPECT_FALSE(parse(kDaemonVerb, {"start", "stop"}));
  EXPECT_FALSE(parse(kCompletionsVerb, {}));
  EXPECT_FALSE(parse(kHelpVerb, {"a", "b"}));
  EXPECT_FALSE(parse(kVersionVerb, {"x"}));
}

TEST(Parse, every_verb_takes_help_without_its_words) {
  for (const Verb* verb : all_verbs()) {
    const auto parsed = parse(*verb, {"--help"});
    ASSERT_TRUE(parsed) << verb->name;
    EXPECT_TRUE(parsed->has("help")) << verb->name;
  }
}

TEST(Parse, every_option_of_every_verb_is_understood) {
  for (const Verb* verb : all_verbs()) {
    for (const OptionGroup& group : verb->groups) {
      for (const Option& option : group.options) {
        Words words{"--" + std::string(option.name)};
        if (option.kind != Option::Kind::kFlag) words.push_back("value");
        if (option.name != "help") words.push_back("--help");
        const auto parsed = parse(*verb, words);
        ASSERT_TRUE(parsed) << verb->name << " " << option.name;
        EXPECT_TRUE(parsed->has(option.name)) << verb->name << " " << option.name;
      }
    }
  }
}

TEST(Verbs, names_aliases_and_letters_are_unique) {
  std::map<std::string_view, int> seen;
  for (const Verb* verb : all_verbs()) {
    EXPECT_EQ(seen[verb->name]++, 0) << verb->name;
    for (const auto alias : verb->aliases) EXPECT_EQ(seen[alias]++, 0) << alias;
    std::map<std::string, int> options;
    for (const OptionGroup& group : verb->groups) {
      for (const Option& option : group.options) {
        EXPECT_EQ(options[std::string(option.name)]++, 0) << verb->name << " " << option.name;
        if (option.letter == 0) continue;
        EXPECT_EQ(options[std::string(1, option.letter)]++, 0) << verb->name << " " << option.name;
      }
    }
  }
}

}  // namespace
}  // namespace tutti
