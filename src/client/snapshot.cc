#include "client/snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "base/unique_fd.h"
#include "client/digest_cache.h"
#include "client/views.h"
#include "core/spec/gitignore.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

// Files that change meanwhile are sent as they are then, and named anew; one round more does it,
// unless a file is too large to be sent.
constexpr int kRounds = 5;
// Below it a copy of the daemon's is not cheaper than sending.
constexpr std::uintmax_t kCopiedFrom = 256 * 1024;
// What the daemon takes as one request.
constexpr std::uintmax_t kLargestSent = std::uintmax_t{256} << 20;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<std::string> read_whole(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return io_error("snapshot: cannot read " + path, errno);
  std::string content;
  std::string chunk(1 << 16, '\0');
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("snapshot: cannot read " + path, errno);
    if (got == 0) return content;
    content.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

std::string hex_of(const unsigned char* bytes, unsigned int size) {
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

std::string sha256_of(std::string_view content) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(content.data(), content.size(), digest, &size, EVP_sha256(), nullptr);
  return hex_of(digest, size);
}

Result<std::string> sha256_of_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return io_error("snapshot: cannot read " + path, errno);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    return Error{ErrorCode::kInternal, "snapshot: SHA-256 is not available"};
  }
  std::string chunk(1 << 16, '\0');
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("snapshot: cannot read " + path, errno);
    if (got == 0) break;
    EVP_DigestUpdate(context.get(), chunk.data(), static_cast<std::size_t>(got));
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), digest, &size);
  return hex_of(digest, size);
}

std::int64_t now_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// The digest, from the cache if the file is as it was then. The status is taken before the content
// is read: a change in between is seen as one the next time.
Result<std::string> known_digest(const std::string& path, DigestCache& cache) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return io_error("snapshot: cannot read " + path, errno);
  if (std::string known = cache.find(status); !known.empty()) return known;
  const std::int64_t now = now_ns();
  auto hash = sha256_of_file(path);
  if (hash) cache.remember(status, *hash, now);
  return hash;
}

// Walks a tree and keeps what is not ignored; content is not read yet.
class Walk {
 public:
  Walk(fs::path root, const SnapshotChoice& choice) : root_(std::move(root)) {
    if (!choice.ignored.empty()) rules_.add(choice.ignored, "");
    for (const std::string& path : choice.paths) {
      const std::string plain = fs::path(path).lexically_normal().string();
      chosen_.push_back(plain.ends_with('/') ? plain.substr(0, plain.size() - 1) : plain);
    }
    const bool all = std::find(chosen_.begin(), chosen_.end(), ".") != chosen_.end();
    if (all) chosen_.clear();
  }

  Result<std::vector<SnapshotFile>> run() {
    if (auto done = visit(""); !done) return done.error();
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  Result<void> visit(const std::string& folder) {
    const fs::path here = folder.empty() ? root_ : root_ / folder;
    std::error_code failure;
    for (const char* name : {".gitignore", ".tuttiignore"}) {
      if (fs::is_regular_file(here / name, failure)) rules_.add(slurp(here / name), folder);
    }
    fs::directory_iterator at(here, failure);
    // One that was removed since it was seen; the top must be there.
    if (failure == std::errc::no_such_file_or_directory && !folder.empty()) return {};
    if (failure) return io_error("snapshot: cannot read " + here.string(), failure.value());
    for (; at != fs::directory_iterator(); at.increment(failure)) {
      if (auto done = take(*at, folder); !done) return done;
      if (failure) break;
    }
    if (failure) return io_error("snapshot: cannot read " + here.string(), failure.value());
    return {};
  }

  Result<void> take(const fs::directory_entry& entry, const std::string& folder) {
    const std::string name = entry.path().filename().string();
    if (name == ".git") return {};
    const std::string path = folder.empty() ? name : folder + "/" + name;
    std::error_code failure;
    const fs::file_status status = entry.symlink_status(failure);
    if (rules_.ignored(path, fs::is_directory(status))) return {};
    if (!is_chosen(path, fs::is_directory(status))) return {};
    if (fs::is_directory(status)) return visit(path);
    if (fs::is_symlink(status)) {
      const auto target = fs::read_symlink(entry.path(), failure);
      if (failure == std::errc::no_such_file_or_directory) return {};
      if (failure) return io_error("snapshot: cannot read the link " + path, failure.value());
      files_.push_back({path, target.string(), 0, {}});
    } else if (fs::is_regular_file(status)) {
      const auto mode = static_cast<std::uint32_t>(status.permissions()) & 0777u;
      files_.push_back({path, {}, mode, {}});
    }
    return {};
  }

  // What is chosen, what is below that, and the folders that lead there.
  bool is_chosen(const std::string& path, bool folder) const {
    if (chosen_.empty()) return true;
    return std::any_of(chosen_.begin(), chosen_.end(), [&](const std::string& one) {
      return path == one || path.starts_with(one + "/") || (folder && one.starts_with(path + "/"));
    });
  }

  fs::path root_;
  std::vector<std::string> chosen_;
  IgnoreRules rules_;
  std::vector<SnapshotFile> files_;
};

std::string manifest_of(const std::vector<SnapshotFile>& files) {
  json::array list;
  for (const SnapshotFile& file : files) {
    json::object entry;
    entry["path"] = text_to_json(file.path);
    if (!file.link.empty()) {
      entry["link"] = text_to_json(file.link);
    } else {
      entry["mode"] = file.mode;
      entry["sha256"] = file.sha256;
    }
    list.push_back(std::move(entry));
  }
  return json::serialize(json::object{{"files", std::move(list)}});
}

bool is_gone(const std::string& path) {
  std::error_code failure;
  return !fs::exists(fs::symlink_status(path, failure));
}

// Sends a file's content as it is now and keeps its digest. A large file is not sent: a daemon on
// this machine copies it, in pieces, and checks the digest. One elsewhere does not find it, or
// finds other content.
Result<void> send_one(Client& client, SnapshotFile& file, const std::string& path) {
  std::error_code failure;
  const auto size = fs::file_size(path, failure);
  if (!failure && size >= kCopiedFrom) {
    const json::object body{{"path", text_to_json(path)}};
    auto copied = client.request("POST", "/v1/blobs/" + file.sha256, json::serialize(body));
    if (copied) return {};
    if (size > kLargestSent) {
      if (copied.error().code != ErrorCode::kInvalidInput) return copied.error();
      auto hash = sha256_of_file(path);
      if (!hash) return hash.error();
      file.sha256 = *std::move(hash);
      return {};
    }
  }
  auto content = read_whole(path);
  if (!content) return content.error();
  file.sha256 = sha256_of(*content);
  return client.upload("/v1/blobs/" + file.sha256, *content);
}

// Content that is missing is that of any file which still has it. Files that changed get their new
// digest, those that are gone are left out.
Result<void> send_missing(Client& client, const std::string& folder,
                          std::vector<SnapshotFile>& files, const json::array& missing,
                          const std::function<void(std::size_t, std::size_t)>& step) {
  std::map<std::string, std::vector<SnapshotFile*>> by_hash;
  for (SnapshotFile& file : files) {
    if (file.link.empty()) by_hash[file.sha256].push_back(&file);
  }
  std::size_t done = 0;
  for (const json::value& element : missing) {
    const std::string hash = element.is_string() ? std::string(element.as_string()) : "";
    const auto found = by_hash.find(hash);
    if (found == by_hash.end()) {
      return Error{ErrorCode::kInternal, "snapshot: the daemon asks for content never named"};
    }
    for (SnapshotFile* file : found->second) {
      const std::string path = folder + "/" + file->path;
      if (auto sent = send_one(client, *file, path); !sent) {
        if (!is_gone(path)) return sent;
        file->sha256.clear();
      }
      if (file->sha256 == hash) break;
    }
    step(++done, missing.size());
  }
  std::erase_if(files, [](const SnapshotFile& f) { return f.link.empty() && f.sha256.empty(); });
  return {};
}

}  // namespace

Result<std::vector<SnapshotFile>> list_snapshot(
    const std::string& folder, const std::function<void(std::size_t, std::size_t)>& step,
    const SnapshotChoice& choice) {
  auto files = Walk(folder, choice).run();
  if (!files) return files;
  std::size_t done = 0;
  DigestCache cache(choice.digests);
  for (SnapshotFile& file : *files) {
    if (file.link.empty()) {
      auto hash = known_digest(folder + "/" + file.path, cache);
      // What is removed meanwhile is not there.
      if (!hash && !is_gone(folder + "/" + file.path)) return hash.error();
      file.sha256 = hash ? *hash : "";
    }
    if (++done % 64 == 0) step(done, files->size());
  }
  cache.save();
  std::erase_if(*files, [](const SnapshotFile& f) { return f.link.empty() && f.sha256.empty(); });
  return files;
}

Result<std::string> take_snapshot(Client& client, const std::string& folder,
                                  const std::function<void(std::size_t, std::size_t)>& step,
                                  const SnapshotChoice& choice) {
  auto files = list_snapshot(folder, step, choice);
  if (!files) return files.error();
  for (int round = 0; round < kRounds; ++round) {
    auto answer = client.request("POST", "/v1/snapshots", manifest_of(*files));
    if (!answer) return answer.error();
    const auto* missing = answer->as_object().if_contains("missing");
    if (missing == nullptr || !missing->is_array() || missing->as_array().empty()) {
      return text_at(*answer, "digest");
    }
    auto sent = send_missing(client, folder, *files, missing->as_array(), step);
    if (!sent) return sent.error();
  }
  return Error{ErrorCode::kConflict,
               "snapshot: files in " + folder + " keep changing; try again when they are at rest"};
}

}  // namespace tutti
