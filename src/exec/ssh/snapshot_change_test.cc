#include "exec/ssh/snapshot_change.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tutti {
namespace {

SnapshotEntry file_of(const std::string& path, const std::string& content = "x",
                      std::uint32_t mode = 0644) {
  return {path, mode, content, ""};
}

using Words = std::vector<std::string>;

Words paths_of(const SnapshotManifest& manifest) {
  Words paths;
  for (const SnapshotEntry& entry : manifest) paths.push_back(entry.path);
  return paths;
}

TEST(SnapshotChange, of_a_snapshot_to_itself_is_nothing) {
  const SnapshotManifest tree = {file_of("b"), file_of("a/c"), {"d", 0755, "", ""}};
  const SnapshotChange change = snapshot_change(tree, tree);
  EXPECT_TRUE(change.gone.empty());
  EXPECT_TRUE(change.added.empty());
}

TEST(SnapshotChange, content_modes_and_targets_count) {
  const SnapshotManifest before = {file_of("a"), file_of("b"), {"c", 0, "", "a"}, file_of("d")};
  const SnapshotManifest after = {
      file_of("a", "y"), file_of("b", "x", 0755), {"c", 0, "", "b"}, file_of("d")};
  const SnapshotChange change = snapshot_change(before, after);
  EXPECT_EQ(change.gone, (Words{"a", "b", "c"}));
  EXPECT_EQ(paths_of(change.added), (Words{"a", "b", "c"}));
}

TEST(SnapshotChange, a_folder_of_which_nothing_is_left_goes_as_one) {
  const SnapshotManifest before = {file_of("a/b/c"), file_of("a/b/d"), file_of("a/e")};
  EXPECT_EQ(snapshot_change(before, {file_of("a/e")}).gone, (Words{"a/b"}));
  EXPECT_EQ(snapshot_change(before, {file_of("f")}).gone, (Words{"a"}));
  EXPECT_EQ(snapshot_change(before, {{"a", 0755, "", ""}}).gone, (Words{"a"}));
}

TEST(SnapshotChange, files_and_folders_take_each_others_places) {
  const SnapshotManifest one = {file_of("a"), file_of("b/c")};
  const SnapshotManifest other = {file_of("a/d"), file_of("b")};
  EXPECT_EQ(snapshot_change(one, other).gone, (Words{"a", "b"}));
  EXPECT_EQ(snapshot_change(other, one).gone, (Words{"a", "b"}));
  EXPECT_EQ(paths_of(snapshot_change(one, other).added), (Words{"a/d", "b"}));
}

// What a host would have: files, links and folders by path.
class Tree {
 public:
  void add(const SnapshotManifest& manifest) {
    for (const SnapshotEntry& entry : manifest) {
      for (std::size_t at = entry.path.find('/'); at != std::string::npos;
           at = entry.path.find('/', at + 1))
        things_.emplace(entry.path.substr(0, at), SnapshotEntry{});
      things_[entry.path] = entry;
    }
  }
  void remove(const std::string& path) {
    std::erase_if(things_, [&](const auto& thing) {
      return thing.first == path || thing.first.starts_with(path + "/");
    });
  }
  bool operator==(const Tree&) const = default;

 private:
  std::map<std::string, SnapshotEntry> things_;
};

SnapshotManifest random_tree(std::mt19937& dice) {
  SnapshotManifest manifest;
  // Depth first; a folder that got nothing is an entry of its own.
  const auto fill = [&](const auto& self, const std::string& above, int depth) -> void {
    const std::size_t before = manifest.size();
    for (const char name : std::string("abc")) {
      const std::string path = above + name;
      switch (dice() % 6) {
        case 0:
        case 1:
          manifest.push_back(file_of(path, std::string(1, static_cast<char>('x' + dice() % 2))));
          break;
        case 2:
          manifest.push_back({path, 0, "", "a"});
          break;
        case 3:
          if (depth < 3) self(self, path + "/", depth + 1);
          break;
        default:
          break;
      }
    }
    if (manifest.size() == before && !above.empty())
      manifest.push_back({above.substr(0, above.size() - 1), 0755, "", ""});
  };
  fill(fill, "", 0);
  return manifest;
}

TEST(SnapshotChange, of_any_tree_to_any_other_gives_that_tree) {
  const unsigned seed = std::random_device()();
  std::mt19937 dice(seed);
  for (int round = 0; round < 2000; ++round) {
    const SnapshotManifest before = random_tree(dice);
    const SnapshotManifest after = random_tree(dice);
    const SnapshotChange change = snapshot_change(before, after);
    Tree tree;
    tree.add(before);
    for (const std::string& path : change.gone) tree.remove(path);
    tree.add(change.added);
    Tree wanted;
    wanted.add(after);
    ASSERT_EQ(tree, wanted) << "seed " << seed << ", round " << round;
  }
}

}  // namespace
}  // namespace tutti
