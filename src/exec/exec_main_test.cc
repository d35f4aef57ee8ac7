#include <gtest/gtest.h>

#include <string_view>

#include "exec/keeper/keeper.h"

// The test program is its own keeper, as the product is: started as `unit_exec keeper --home H`.
int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "keeper") return tutti::keeper_main({argv[3]});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
