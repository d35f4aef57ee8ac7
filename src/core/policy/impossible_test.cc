#include "core/policy/impossible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::cpus;
using testing_support::gpus;
using testing_support::node;
using testing_support::with_gpus;
using testing_support::World;

TEST(impossible, it_names_what_is_too_large) {
  World world({node("a", 4, 1000), with_gpus(node("b", 2), 1)});
  EXPECT_EQ(impossible(world.ledger, cpus(4)), "");
  EXPECT_THAT(impossible(world.ledger, cpus(5)), HasSubstr("5 CPUs (the largest node has 4)"));
  World none({node("a", 0)});
  EXPECT_THAT(impossible(none.ledger, cpus(1)), HasSubstr("1 CPU (the largest node has 0)"));
  EXPECT_THAT(impossible(world.ledger, gpus(2)), HasSubstr("2 GPUs (the largest node has 1)"));
  EXPECT_THAT(impossible(world.ledger, cpus(1, 100'000)), HasSubstr("100000 MiB"));
  Request both = gpus(1);
  both.cpus = MilliCpu(4000);
  EXPECT_THAT(impossible(world.ledger, both), HasSubstr("this combination"));
}

Node elsewhere(Node one) {
  one.remote.address = one.name;
  return one;
}

TEST(impossible, in_a_pool_only_nodes_that_are_meant_count) {
  World world({with_gpus(node("here", 4), 2, 81920, "A100"),
               elsewhere(with_gpus(node("box1", 4), 2, 24576, "RTX3090")),
               elsewhere(with_gpus(node("box2", 4), 3, 24576, "RTX3090"))});
  Request typed = gpus(1);
  typed.devices.type = "RTX3090";
  EXPECT_EQ(impossible(world.ledger, typed),
            "this machine could never run it: it wants 1 GPU of type RTX3090 (there are GPUs of "
            "type A100). Jobs with --on box1 run there, where it fits.");
  EXPECT_THAT(
      impossible(world.ledger, gpus(3)),
      AllOf(HasSubstr("3 GPUs (the largest node that it may use has 2)"), HasSubstr("--on box2")));
  Request large = gpus(1);
  large.devices.memory = MiB(30720);
  large.labels = {"box1|box2"};
  EXPECT_THAT(impossible(world.ledger, large),
              HasSubstr("1 GPU with 30720 MiB (the largest has 24576 MiB). Ask for less"));
}

TEST(impossible, of_several_types_the_number_of_the_one_that_is_wanted_is_told) {
  Node mixed = with_gpus(node("a", 8), 3, 16384, "V100");
  mixed.devices[2].type = "T4";
  World world({mixed});
  Request request = gpus(2);
  request.devices.type = "T4";
  EXPECT_THAT(impossible(world.ledger, request),
              HasSubstr("2 GPUs of type T4 (the largest node has 1 of them)"));
}

TEST(impossible, a_label_that_no_node_has_is_named) {
  World world({node("a", 4)});
  Request request = cpus(1);
  request.labels = {"a", "box1|box2"};
  EXPECT_THAT(impossible(world.ledger, request), HasSubstr("no node is called 'box1,box2'"));
  request.labels = {"a"};
  EXPECT_EQ(impossible(world.ledger, request), "");
}

TEST(impossible, without_nodes_nothing_is_known_to_be_impossible) {
  EXPECT_EQ(impossible(Ledger(), cpus(1000)), "");
}

}  // namespace
}  // namespace tutti
