#include "base/sha256.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, is_that_of_the_standard) {
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, pieces_have_the_digest_of_the_whole) {
  Sha256 hash;
  for (const char* piece : {"a", "", "bc"}) hash.add(piece);
  EXPECT_EQ(hash.finish(), kOfAbc);
}

TEST(Sha256, only_64_lower_case_digits_are_a_digest) {
  const std::string digest = kOfAbc;
  EXPECT_TRUE(is_sha256(digest));
  EXPECT_FALSE(is_sha256(digest.substr(1)));
  EXPECT_FALSE(is_sha256(digest + "0"));
  EXPECT_FALSE(is_sha256("B" + digest.substr(1)));
}

}  // namespace
}  // namespace tutti
