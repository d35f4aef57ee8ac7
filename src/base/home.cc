#include "base/home.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace tutti {
namespace {

constexpr std::size_t kLongestSocketPath = 100;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Result<std::string> absolute(std::string_view path) {
  std::error_code failure;
  const auto full = std::filesystem::absolute(std::filesystem::path(path), failure);
  if (failure) return io_error(fmt::format("cannot resolve '{}'", path), failure.value());
  std::string text = full.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<std::string> user_folder() {
  if (const auto home = environment("HOME"); !home.empty()) return std::string(home);
  if (const passwd* entry = ::getpwuid(::getuid()); entry != nullptr && entry->pw_dir != nullptr) {
    return std::string(entry->pw_dir);
  }
  return not_found("neither TUTTI_HOME nor HOME is set; set TUTTI_HOME to a folder of yours");
}

// FNV-1a: tells homes apart, is not meant to be secure.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

Result<std::string> home_folder(std::string_view chosen) {
  if (!chosen.empty()) return absolute(chosen);
  if (const auto home = environment("TUTTI_HOME"); !home.empty()) return absolute(home);
  // The XDG specification says that a relative path is to be ignored.
  if (const auto xdg = environment("XDG_DATA_HOME"); xdg.starts_with('/')) {
    return absolute(std::string(xdg) + "/tutti");
  }
  auto user = user_folder();
  if (!user) return user.error();
  return absolute(*user + "/.local/share/tutti");
}

std::string socket_folder(std::string_view home, std::size_t longest_name) {
  std::string folder = std::string(home) + "/run";
  if (folder.size() + 1 + longest_name <= kLongestSocketPath) return folder;
  return fmt::format("/tmp/tutti-{}-{:016x}", ::getuid(), hash_of(home));
}

std::string socket_path(std::string_view home) {
  constexpr std::string_view kName = "tutti.sock";
  return fmt::format("{}/{}", socket_folder(home, kName.size()), kName);
}

Result<void> make_socket_folder(const std::string& socket) {
  const std::string folder = std::filesystem::path(socket).parent_path().string();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return io_error("cannot create the socket's folder " + folder, errno);
  }
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return io_error("cannot look at " + folder, errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::getuid()) {
    return Error{ErrorCode::kDenied, folder + " is not a folder of this user; remove it"};
  }
  if ((status.st_mode & 0077) != 0 && ::chmod(folder.c_str(), 0700) != 0) {
    return io_error("cannot protect " + folder, errno);
  }
  return {};
}

std::string token_path(std::string_view home) {
  return std::string(home) + "/token";
}

std::string work_path(std::string_view home, std::uint64_t job) {
  return fmt::format("{}/work/{}", home, job);
}

std::string daemon_log_path(std::string_view home) {
  return std::string(home) + "/daemon.log";
}

}  // namespace tutti
