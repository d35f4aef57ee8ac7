#include "cli/reference.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/completions.h"
#include "cli/output/text.h"
#include "cli/testing/fake.h"
#include "cli/verbs/verbs.h"
#include "core/elastic/policies.h"
#include "core/plan/ordering.h"

namespace tutti {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Runs `command FILE` on a file with this text; whether it succeeded.
bool accepted_by(const std::string& command, const std::string& text) {
  std::string path = "/tmp/tutti-reference-test-XXXXXX";
  const int fd = ::mkstemp(path.data());
  EXPECT_GE(fd, 0);
  ::close(fd);
  std::ofstream(path) << text;
  const int status = std::system((command + " " + path + " >&2").c_str());
  ::unlink(path.c_str());
  return status == 0;
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

TEST(Reference, everything_names_every_verb_and_option) {
  const FakeScreen screen;
  const std::string overview = overview_text(screen);
  const std::string markdown = reference_markdown();
  const std::string manual = manual_page();
  for (const Verb* verb : all_verbs()) {
    EXPECT_TRUE(contains(overview, "  " + std::string(verb->name) + "  ")) << verb->name;
    EXPECT_TRUE(contains(markdown, "## tutti " + std::string(verb->name))) << verb->name;
    EXPECT_TRUE(contains(manual, ".SS tutti " + std::string(verb->name))) << verb->name;
    const std::string help = verb_text(*verb, screen);
    for (const OptionGroup& group : verb->groups) {
      for (const Option& option : group.options) {
        EXPECT_TRUE(contains(help, option_names(option))) << verb->name << " " << option.name;
        EXPECT_TRUE(contains(markdown, "`" + option_names(option) + "`")) << option.name;
      }
    }
  }
}

TEST(Reference, help_fits_eighty_columns) {
  const FakeScreen screen;
  for (const Verb* verb : all_verbs()) {
    const std::string text = verb_text(*verb, screen);
    const auto end = text.find("\nExamples\n");
    std::size_t begin = text.find("\n\n", text.find("Usage:"));
    while (begin < std::min(end, text.size())) {
      const auto next = std::min(text.find('\n', begin + 1), text.size());
      const std::string line = text.substr(begin + 1, next - begin - 1);
      EXPECT_LE(columns_of(line), 80u) << line;
      begin = next;
    }
  }
}

TEST(Reference, every_verb_says_what_it_is) {
  for (const Verb* verb : all_verbs()) {
    EXPECT_FALSE(verb->summary.empty()) << verb->name;
    EXPECT_FALSE(verb->description.empty()) << verb->name;
    EXPECT_FALSE(verb->usage.empty()) << verb->name;
    EXPECT_NE(verb->run, nullptr) << verb->name;
  }
}

TEST(Reference, the_manual_page_passes_mandoc) {
  if (!installed("mandoc")) GTEST_SKIP() << "mandoc is not installed";
  EXPECT_TRUE(accepted_by("mandoc -Tlint -Wwarning", manual_page()));
}

TEST(Completions, every_shell_learns_every_verb_and_option) {
  for (const std::string& text : {bash_completions(), zsh_completions(), fish_completions()}) {
    for (const Verb* verb : all_verbs()) {
      EXPECT_TRUE(contains(text, verb->name)) << verb->name;
      for (const auto alias : verb->aliases) EXPECT_TRUE(contains(text, alias)) << alias;
      for (const OptionGroup& group : verb->groups) {
        for (const Option& option : group.options) {
          EXPECT_TRUE(contains(text, option.name)) << verb->name << " " << option.name;
        }
      }
    }
  }
}

TEST(Completions, simulate_learns_every_policy) {
  const Option* policy = nullptr;
  for (const OptionGroup& group : kSimulateVerb.groups) {
    for (const Option& option : group.options) {
      if (option.name == "policy") policy = &option;
    }
  }
  ASSERT_NE(policy, nullptr);
  const auto lists = [&](std::string_view name) {
    return contains(std::string(policy->help), name) &&
           contains(std::string(policy->choices), name);
  };
  for (const std::string_view name : ordering_names()) EXPECT_TRUE(lists(name)) << name;
  for (const ElasticTraits& one : elastic_policies())
    EXPECT_EQ(lists(one.name), !one.ablation) << one.name;
}

TEST(Completions, bash_accepts_its_script_and_completes) {
  if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
  const std::string probe = bash_completions() +
                            "COMP_WORDS=(tutti sub); COMP_CWORD=1; _tutti\n"
                            "[[ ${COMPREPLY[*]} == submit ]] || exit 1\n"
                            "COMP_WORDS=(tutti ls --state fa); COMP_CWORD=3; _tutti\n"
                            "[[ ${COMPREPLY[*]} == failed ]] || exit 2\n"
                            "COMP_WORDS=(tutti why --js); COMP_CWORD=2; _tutti\n"
                            "[[ ${COMPREPLY[*]} == --json ]] || exit 3\n"
                            "tutti() { [[ $1 == nodes ]] && echo box1 || echo 12; }\n"
                            "COMP_WORDS=(tutti nodes drain ''); COMP_CWORD=3; _tutti\n"
                            "[[ ${COMPREPLY[*]} == box1 ]] || exit 4\n"
                            "COMP_WORDS=(tutti show ''); COMP_CWORD=2; _tutti\n"
                            "[[ ${COMPREPLY[*]} == 'last 12' ]] || exit 5\n"
                            "COMP_WORDS=(tutti wait ''); COMP_CWORD=2; _tutti\n"
                            "[[ ${COMPREPLY[*]} == 'last all 12' ]] || exit 6\n";
  EXPECT_TRUE(accepted_by("bash", probe));
}

TEST(Completions, zsh_accepts_its_script) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_TRUE(accepted_by("zsh -n", zsh_completions()));
}

TEST(Completions, fish_accepts_its_script) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_TRUE(accepted_by("fish -n", fish_completions()));
}

}  // namespace
}  // namespace tutti
