#include "wire/batch_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines(std::string_view text, std::string_view pattern = {}) {
  auto result = lines_from_json(text, pattern);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : std::vector<std::string>();
}

std::string error_of_batch(std::string_view text, std::string_view pattern = {}) {
  const auto result = lines_from_json(text, pattern);
  return result ? "no error" : result.error().message;
}

TEST(BatchJson, strings_of_an_array_are_commands) {
  EXPECT_THAT(lines(R"(["echo a", "ls | wc"])"), ElementsAre("echo a", "ls | wc"));
}

TEST(BatchJson, each_line_may_be_a_value) {
  EXPECT_THAT(lines("\"echo a\"\n\n[\"echo\",\"b c\"]\r\n{\"command\":\"x y\"}\n"),
              ElementsAre("echo a", "echo 'b c'", "x y"));
}

TEST(BatchJson, words_are_quoted_for_the_shell) {
  EXPECT_THAT(lines(R"([["echo", "a'b; rm -rf x", "$HOME"]])"),
              ElementsAre(R"(echo 'a'\''b; rm -rf x' '$HOME')"));
}

TEST(BatchJson, an_object_fills_the_pattern) {
  EXPECT_THAT(lines(R"({"lr":0.5,"name":"a b","n":3,"on":true,"none":null})",
                    "train --lr {lr} --name={name} {n} {on} {none}"),
              ElementsAre("train --lr 0.5 --name='a b' 3 true ''"));
}

TEST(BatchJson, numbers_stay_as_they_are_written) {
  EXPECT_THAT(lines(R"({"x":1.0,"y":12345678901234567890123,"u":1E5,"z":0.10,"n":-0,"i":7})",
                    "a {x} {y} {u} {z} {n} {i}"),
              ElementsAre("a 1.0 12345678901234567890123 1E5 0.10 -0 7"));
  EXPECT_THAT(lines(R"({"all":[1.0,2],"of":{"lr":1e-05,"to":[0.10,"\"1.0"]}})", "a {all} {of}"),
              ElementsAre(R"(a 1.0 2 '{"lr":1e-05,"to":[0.10,"\"1.0"]}')"));
  EXPECT_THAT(error_of_batch("[1.0]"), HasSubstr("element 1"));
  EXPECT_THAT(error_of_batch(R"([["echo",1.0]])"), HasSubstr("must be strings: 1.0"));
}

TEST(BatchJson, an_array_in_a_pattern_is_several_words) {
  EXPECT_THAT(lines(R"([{"files":["a b","c"]}])", "cat {files} > out"),
              ElementsAre("cat 'a b' c > out"));
}

TEST(BatchJson, braces_of_the_shell_are_left_alone) {
  EXPECT_THAT(lines(R"([{"k":"v"}])", "echo ${HOME} {a,b} {{k}} '{}' { {k} ; }"),
              ElementsAre("echo ${HOME} {a,b} {k} '{}' { v ; }"));
}

TEST(BatchJson, a_place_inside_quotes_is_refused) {
  EXPECT_THAT(error_of_batch(R"([{"k":"v"}])", "echo '{k}'"), HasSubstr("outside of quotes"));
  EXPECT_THAT(error_of_batch(R"([{"k":"v"}])", "echo \"{k}\""), HasSubstr("outside of quotes"));
}

TEST(BatchJson, with_a_pattern_data_is_never_a_command) {
  EXPECT_THAT(error_of_batch(R"(["rm -rf ./precious"])", "echo item {name}"),
              HasSubstr("element 1: --template with {key} places needs objects with keys"));
  EXPECT_THAT(error_of_batch("{\"name\":1}\n[\"rm\",\"x\"]", "echo {name}"),
              HasSubstr("line 2: --template"));
  EXPECT_THAT(error_of_batch(R"([["rm","x"]])", "echo {}"), HasSubstr("needs single values"));
  EXPECT_THAT(error_of_batch(R"([{"command":"rm x"}])", "echo {}"), HasSubstr("element 1: "));
}

TEST(BatchJson, single_values_fill_braces_as_lines_do) {
  EXPECT_THAT(lines(R"(["a; b",1.0,true,null,{"base64":"Yg=="}])", "echo {} '{x y}' ${HOME}"),
              ElementsAre("echo 'a; b' '{x y}' ${HOME}", "echo 1.0 '{x y}' ${HOME}",
                          "echo true '{x y}' ${HOME}", "echo '' '{x y}' ${HOME}",
                          "echo b '{x y}' ${HOME}"));
}

TEST(BatchJson, a_pattern_without_a_place_is_refused) {
  EXPECT_THAT(error_of_batch(R"([{"k":"v"}])", "echo {{k}}"), HasSubstr("has no place for values"));
  EXPECT_THAT(error_of_batch(R"(["v"])", "echo '{}'"), HasSubstr("in quotes"));
}

TEST(BatchJson, a_missing_key_is_named_with_the_nearest_one) {
  EXPECT_THAT(error_of_batch(R"([{"seed":1},{"seeds":2}])", "x {seed}"),
              testing::AllOf(HasSubstr("element 2"), HasSubstr("did you mean 'seeds'")));
}

TEST(BatchJson, what_is_no_command_is_refused) {
  EXPECT_THAT(error_of_batch("[1]"), HasSubstr("element 1"));
  EXPECT_THAT(error_of_batch("[\"a\", \"  \"]"), HasSubstr("element 2: the command is empty"));
  EXPECT_THAT(error_of_batch("[[]]"), HasSubstr("no words"));
  EXPECT_THAT(error_of_batch(R"([{"x":1}])"), HasSubstr("needs a pattern"));
  EXPECT_THAT(error_of_batch(R"(["a\u0000b"])"), HasSubstr("NUL"));
  EXPECT_THAT(error_of_batch("\"a\"\n{bad}\n"), HasSubstr("line 2: JSON"));
  EXPECT_THAT(error_of_batch(" \n"), HasSubstr("no command"));
}

TEST(BatchJson, a_broken_array_is_reported_at_its_own_byte) {
  EXPECT_EQ(error_of_batch("[\n\"a\",\n\"b\" x\n]"), "JSON: syntax error at byte 11");
}

TEST(BatchJson, an_empty_array_has_no_lines) {
  EXPECT_THAT(lines("[]"), ElementsAre());
}

}  // namespace
}  // namespace tutti
