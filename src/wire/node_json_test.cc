#include "wire/node_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of_node(std::string_view body) {
  const auto node = node_from_json(body);
  EXPECT_FALSE(node) << body;
  return node ? "" : node.error().message;
}

TEST(NodeJson, an_address_is_enough) {
  const auto node = node_from_json(R"({"address":"ada@box1.lab:22"})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "box1.lab");
  EXPECT_EQ(node->remote, (Remote{"ada@box1.lab:22", "", "", seconds(120)}));
  EXPECT_THAT(node->labels, ElementsAre("pool"));
  EXPECT_EQ(node->max_jobs, 0u);
}

TEST(NodeJson, labels_are_sorted_and_there_once) {
  const auto node = node_from_json(R"({"address":"a","labels":["z","pool","b","z"]})");
  ASSERT_TRUE(node);
  EXPECT_THAT(node->labels, ElementsAre("b", "pool", "z"));
}

TEST(NodeJson, what_is_wrong_is_named) {
  EXPECT_THAT(error_of_node("[]"), HasSubstr("a node"));
  EXPECT_THAT(error_of_node("{}"), HasSubstr("needs an address"));
  EXPECT_THAT(error_of_node(R"({"address":"a","adress":"b"})"), HasSubstr("'address'"));
  EXPECT_THAT(error_of_node(R"({"address":"a b"})"), HasSubstr("host has other characters"));
  EXPECT_THAT(error_of_node(R"({"address":"a","name":"a|b"})"), HasSubstr("name 'a|b'"));
  EXPECT_THAT(error_of_node(R"({"address":"a","labels":["x,y"]})"), HasSubstr("label 'x,y'"));
  EXPECT_THAT(error_of_node(R"({"address":"a","key":"id"})"), HasSubstr("absolute"));
  EXPECT_THAT(error_of_node(R"({"address":"a","gpus":"A100"})"), HasSubstr("gpus"));
  EXPECT_THAT(error_of_node(R"({"address":"a","max_jobs":-1})"), HasSubstr("max_jobs"));
  EXPECT_THAT(error_of_node(R"({"address":"a","patience":"0"})"), HasSubstr("from 1s to 30d"));
}

TEST(NodeJson, a_limit_is_one_number) {
  EXPECT_EQ(*node_limit_from_json(R"({"max_jobs":0})"), 0u);
  EXPECT_FALSE(node_limit_from_json(R"({"max_jobs":"4"})"));
  EXPECT_FALSE(node_limit_from_json("{}"));
}

}  // namespace
}  // namespace tutti
