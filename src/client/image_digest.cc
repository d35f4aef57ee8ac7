#include "client/image_digest.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/sha256.h"
#include "client/snapshot.h"
#include "core/spec/container.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigestDigits = 24;

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// As the runtimes look for it: beside the Dockerfile with its name first.
std::string ignored_files(const ImageBuild& build) {
  for (const std::string& path :
       {build.dockerfile + ".dockerignore", build.context + "/.dockerignore"}) {
    std::error_code failure;
    if (!fs::is_regular_file(path, failure)) continue;
    if (const auto text = text_of(path)) return as_gitignore(*text);
  }
  return {};
}

// Length and content: what follows cannot be taken for a part of it.
void add(std::string& all, const std::string& text) {
  all += fmt::format("{}:", text.size()) + text + "\n";
}

}  // namespace

Result<std::string> image_digest(const ImageBuild& build, const std::string& digests) {
  const auto dockerfile = text_of(build.dockerfile);
  std::error_code failure;
  if (!dockerfile || fs::is_directory(build.dockerfile, failure))
    return not_found("there is no Dockerfile " + build.dockerfile);
  if (!fs::is_directory(build.context, failure))
    return not_found("there is no folder " + build.context + " to build the image from");
  SnapshotChoice choice;
  choice.ignored = ignored_files(build);
  choice.given_rules_alone = true;
  choice.digests = digests;
  const auto files = list_snapshot(
      build.context, [](std::size_t, std::size_t) {}, choice);
  if (!files) return files.error();
  std::string all = "tutti image 1\n";
  add(all, *dockerfile);
  add(all, build.target);
  for (const std::string& argument : build.args) add(all, argument);
  for (const SnapshotFile& file : *files) {
    add(all, file.path);
    add(all, file.link.empty() ? fmt::format("{:o} {}", file.mode, file.sha256) : file.link);
  }
  return sha256_hex(all).substr(0, kDigestDigits);
}

}  // namespace tutti
