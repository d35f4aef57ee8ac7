#include "base/home.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tutti {
namespace {

// Sets a variable for the length of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  ~ScopedVariable() {
    if (had_) {
      ::setenv(name_, old_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(Home, tutti_home_wins_over_xdg) {
  ScopedVariable home("TUTTI_HOME", "/somewhere/else/");
  ScopedVariable xdg("XDG_DATA_HOME", "/xdg");
  EXPECT_EQ(home_folder().value(), "/somewhere/else");
  EXPECT_EQ(home_folder("/given").value(), "/given");
}

TEST(Home, xdg_data_home_is_used_when_absolute) {
  ScopedVariable home("TUTTI_HOME", nullptr);
  ScopedVariable user("HOME", "/home/ann");
  {
    ScopedVariable xdg("XDG_DATA_HOME", "/xdg");
    EXPECT_EQ(home_folder().value(), "/xdg/tutti");
  }
  ScopedVariable relative("XDG_DATA_HOME", "xdg");
  EXPECT_EQ(home_folder().value(), "/home/ann/.local/share/tutti");
}

TEST(Home, a_relative_home_becomes_absolute) {
  EXPECT_EQ(home_folder("a/../b").value(), (std::filesystem::current_path() / "b").string());
}

TEST(Home, the_socket_is_in_the_home) {
  EXPECT_EQ(socket_path("/h"), "/h/run/tutti.sock");
}

TEST(Home, a_long_home_has_a_short_socket_path_of_its_own) {
  const std::string one = socket_path("/" + std::string(120, 'a'));
  const std::string other = socket_path("/" + std::string(120, 'b'));
  EXPECT_LE(one.size(), 100u);
  EXPECT_NE(one, other);
  EXPECT_EQ(one, socket_path("/" + std::string(120, 'a')));
}

TEST(Home, long_names_of_sockets_need_a_short_folder_sooner) {
  const std::string home = "/" + std::string(70, 'a');
  EXPECT_EQ(socket_folder(home, 10), home + "/run");
  EXPECT_TRUE(socket_folder(home, 36).starts_with("/tmp/tutti-")) << socket_folder(home, 36);
}

TEST(Home, the_socket_folder_is_private) {
  std::string place = "/tmp/tutti-home-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  const std::string socket = place + "/run/tutti.sock";
  ASSERT_TRUE(make_socket_folder(socket));
  ASSERT_TRUE(make_socket_folder(socket));
  struct stat status {};
  ASSERT_EQ(::stat((place + "/run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  std::filesystem::remove_all(place);
}

TEST(Home, a_socket_folder_that_is_a_link_is_refused) {
  std::string place = "/tmp/tutti-home-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  ASSERT_EQ(::symlink("/tmp", (place + "/run").c_str()), 0);
  EXPECT_FALSE(make_socket_folder(place + "/run/tutti.sock"));
  std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace tutti
