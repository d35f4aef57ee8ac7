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
#include <set>
#include <utility>

#include "base/unique_fd.h"
#include "client/digest_cache.h"
#include "client/kept_files.h"
#include "client/views.h"
#include "core/spec/gitignore.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

// Files that change meanwhile are sent as they are then, and named anew; one round more does it.
// Further ones are for contents that are removed from the daemon's home at that moment.
constexpr int kRounds = 5;
// What the daemon takes as one request.
constexpr std::int64_t kLargestSent = std::int64_t{256} << 20;

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

Result<FileToKeep> seen(const std::string& path) {
  FileToKeep file{path, {}};
  if (::lstat(path.c_str(), &file.status) != 0)
    return io_error("snapshot: cannot read " + path, errno);
  return file;
}

std::uint32_t mode_of(const fs::file_status& status) {
  return static_cast<std::uint32_t>(status.permissions()) & 0777u;
}

std::string joined(const std::string& folder, const std::string& path) {
  return folder.empty() || path.empty() ? folder + path : folder + "/" + path;
}

// Walks a tree and keeps what is not ignored; content is not read yet.
class Walk {
 public:
  Walk(fs::path root, const SnapshotChoice& choice)
      : root_(std::move(root)), reads_rules_(!choice.given_rules_alone) {
    if (reads_rules_) read_rules_above();
    if (!choice.ignored.empty()) rules_.add(choice.ignored, root_in_repository_);
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
  // Of a repository whose folders above the root have rules for it too. Those that ignore the root
  // itself would leave nothing of a folder that was asked for, so they do not count.
  void read_rules_above() {
    std::error_code failure;
    const fs::path root = fs::canonical(root_, failure);
    if (failure) return;  // told when it is visited
    fs::path folder = root;
    while (!fs::exists(folder / ".git", failure)) {
      if (folder == folder.parent_path()) return;
      folder = folder.parent_path();
    }
    read_rules(folder / ".git/info/exclude", "");
    if (folder == root) return;
    for (const fs::path& name : root.lexically_relative(folder)) {
      read_rules_of(folder, root_in_repository_);
      folder /= name;
      root_in_repository_ = joined(root_in_repository_, name.string());
    }
    if (rules_.ignored(root_in_repository_, true)) rules_ = {};
  }

  // `in_repository`: the folder as rules see it.
  void read_rules_of(const fs::path& folder, const std::string& in_repository) {
    for (const char* name : {".gitignore", ".tuttiignore"})
      read_rules(folder / name, in_repository);
  }

  void read_rules(const fs::path& file, const std::string& in_repository) {
    std::error_code failure;
    if (fs::is_regular_file(file, failure)) rules_.add(slurp(file), in_repository);
  }

  Result<void> visit(const std::string& folder) {
    const fs::path here = folder.empty() ? root_ : root_ / folder;
    const std::size_t before = files_.size();
    std::error_code failure;
    if (reads_rules_) read_rules_of(here, joined(root_in_repository_, folder));
    fs::directory_iterator at(here, failure);
    // One that was removed since it was seen; the top must be there.
    if (failure == std::errc::no_such_file_or_directory && !folder.empty()) return {};
    if (failure) return io_error("snapshot: cannot read " + here.string(), failure.value());
    for (; at != fs::directory_iterator(); at.increment(failure)) {
      if (auto done = take(*at, folder); !done) return done;
      if (failure) break;
    }
    if (failure) return io_error("snapshot: cannot read " + here.string(), failure.value());
    if (!folder.empty() && files_.size() == before && is_chosen(folder, false))
      files_.push_back({folder, {}, mode_of(fs::status(here, failure)), {}, true});
    return {};
  }

  Result<void> take(const fs::directory_entry& entry, const std::string& folder) {
    const std::string name = entry.path().filename().string();
    if (name == ".git") return {};
    const std::string path = joined(folder, name);
    std::error_code failure;
    const fs::file_status status = entry.symlink_status(failure);
    if (rules_.ignored(joined(root_in_repository_, path), fs::is_directory(status))) return {};
    if (!is_chosen(path, fs::is_directory(status))) return {};
    if (fs::is_directory(status)) return visit(path);
    if (fs::is_symlink(status)) {
      const auto target = fs::read_symlink(entry.path(), failure);
      if (failure == std::errc::no_such_file_or_directory) return {};
      if (failure) return io_error("snapshot: cannot read the link " + path, failure.value());
      files_.push_back({path, target.string(), 0, {}});
    } else if (fs::is_regular_file(status)) {
      files_.push_back({path, {}, mode_of(status), {}});
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
  std::string root_in_repository_;  // the root as rules see it; empty: they start there
  bool reads_rules_;
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
      if (file.has_content()) entry["sha256"] = file.sha256;
    }
    list.push_back(std::move(entry));
  }
  return json::serialize(json::object{{"files", std::move(list)}});
}

bool is_gone(const std::string& path) {
  std::error_code failure;
  return !fs::exists(fs::symlink_status(path, failure));
}

// Files that are gone meanwhile have no digest by now.
void leave_out_gone(std::vector<SnapshotFile>& files) {
  std::erase_if(files, [](const SnapshotFile& f) { return f.has_content() && f.sha256.empty(); });
}

// A file's digest, read here; empty if the file is gone.
Result<std::string> digest_here(const std::string& path) {
  auto digest = sha256_of_file(path);
  return digest || !is_gone(path) ? digest : Result<std::string>("");
}

// Digests of all files: from the cache if a file is as it was then, else from the daemon, which
// keeps the content at once, else by reading it here. The status is taken before the content is
// read: a change in between is seen as one the next time. What is removed meanwhile is not there.
Result<void> identify(std::vector<SnapshotFile>& files, const std::string& folder,
                      DigestCache& cache, Client* keeper, const SnapshotStep& step) {
  std::vector<SnapshotFile*> unknown;
  std::vector<FileToKeep> wanted;
  for (SnapshotFile& file : files) {
    if (!file.has_content()) continue;
    auto now = seen(folder + "/" + file.path);
    if (!now && is_gone(folder + "/" + file.path)) continue;
    if (!now) return now.error();
    file.sha256 = cache.find(now->status);
    if (!file.sha256.empty()) continue;
    unknown.push_back(&file);
    wanted.push_back(*std::move(now));
  }
  const std::size_t known = files.size() - unknown.size();
  const std::int64_t now = now_ns();
  std::vector<std::string> kept(wanted.size());
  if (keeper != nullptr && !wanted.empty()) {
    auto digests =
        keep_files(*keeper, wanted, [&](std::size_t done) { step(known + done, files.size()); });
    if (!digests) return digests.error();
    kept = *std::move(digests);
  }
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    auto digest = kept[i].empty() ? digest_here(wanted[i].path) : Result<std::string>(kept[i]);
    if (!digest) return digest.error();
    if (!digest->empty()) cache.remember(wanted[i].status, *digest, now);
    unknown[i]->sha256 = *std::move(digest);
    if ((i + 1) % 64 == 0) step(known + i + 1, files.size());
  }
  cache.save();
  leave_out_gone(files);
  return {};
}

// Gives the daemon a file's content as it is now; returns its digest. One that is too large to be
// sent is read by the daemon, whatever became of it.
Result<std::string> send_one(Client& client, const std::string& path) {
  const auto now = seen(path);
  if (!now) return now.error();
  if (now->status.st_size > kLargestSent) {
    auto kept = keep_files(
        client, {*now}, [](std::size_t) {}, KeptAs::kFound);
    if (!kept) return kept.error();
    if (!kept->front().empty()) return kept->front();
    return invalid_input("snapshot: " + path +
                         " is larger than 256 MiB, which is more than a daemon on another machine "
                         "takes; leave it out with a line in .tuttiignore");
  }
  auto content = read_whole(path);
  if (!content) return content.error();
  const std::string digest = sha256_of(*content);
  if (auto sent = client.upload("/v1/blobs/" + digest, *content); !sent) return sent.error();
  return digest;
}

// Content that the daemon lacks, and the files that were said to have it.
struct MissingContent {
  std::string sha256;
  std::vector<SnapshotFile*> files;
};

Result<std::vector<MissingContent>> named_by(std::vector<SnapshotFile>& files,
                                             const json::array& missing) {
  std::map<std::string, std::vector<SnapshotFile*>> by_hash;
  for (SnapshotFile& file : files) {
    if (file.has_content()) by_hash[file.sha256].push_back(&file);
  }
  std::vector<MissingContent> contents;
  for (const json::value& element : missing) {
    const auto found = by_hash.find(element.is_string() ? std::string(element.as_string()) : "");
    if (found == by_hash.end()) {
      return Error{ErrorCode::kInternal, "snapshot: the daemon asks for content never named"};
    }
    if (found->second.empty()) continue;
    contents.push_back({found->first, std::exchange(found->second, {})});
  }
  return contents;
}

// Sends one content from any file that still has it. Files that changed get their new digest, those
// that are gone none.
Result<void> send_content(Client& client, const std::string& folder,
                          const MissingContent& content) {
  for (SnapshotFile* file : content.files) {
    // One that the daemon has read meanwhile, with another digest.
    if (file->sha256 != content.sha256) continue;
    const std::string path = folder + "/" + file->path;
    auto digest = send_one(client, path);
    if (!digest && !is_gone(path)) return digest.error();
    file->sha256 = digest ? *digest : "";
    if (file->sha256 == content.sha256) break;
  }
  return {};
}

// A daemon on this machine reads what it lacks itself; what it does not find as it is seen here is
// sent. Afterwards it has all that the files are named by.
Result<void> send_missing(Client& client, const std::string& folder,
                          std::vector<SnapshotFile>& files, const json::array& missing,
                          const SnapshotStep& step) {
  auto contents = named_by(files, missing);
  if (!contents) return contents.error();
  std::vector<FileToKeep> wanted;
  std::vector<SnapshotFile*> asked;
  for (const MissingContent& content : *contents) {
    auto now = seen(folder + "/" + content.files.front()->path);
    if (!now) continue;
    wanted.push_back(*std::move(now));
    asked.push_back(content.files.front());
  }
  auto kept = keep_files(client, wanted, [&](std::size_t done) { step(done, missing.size()); });
  if (!kept) return kept.error();
  std::set<std::string> there(kept->begin(), kept->end());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!(*kept)[i].empty()) asked[i]->sha256 = std::move((*kept)[i]);
  }
  for (std::size_t i = 0; i < contents->size(); ++i) {
    if (there.contains((*contents)[i].sha256)) continue;
    if (auto sent = send_content(client, folder, (*contents)[i]); !sent) return sent;
    step(i + 1, missing.size());
  }
  leave_out_gone(files);
  return {};
}

}  // namespace

Result<std::vector<SnapshotFile>> list_snapshot(const std::string& folder, const SnapshotStep& step,
                                                const SnapshotChoice& choice, Client* keeper) {
  auto files = Walk(folder, choice).run();
  if (!files) return files;
  DigestCache cache(choice.digests);
  if (auto done = identify(*files, folder, cache, keeper, step); !done) return done.error();
  return files;
}

Result<std::string> take_snapshot(Client& client, const std::string& folder,
                                  const SnapshotStep& step, const SnapshotChoice& choice) {
  auto files = list_snapshot(folder, step, choice, &client);
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
               "snapshot: the daemon loses files of " + folder +
                   " as soon as it has them; see whether something removes files of its home"};
}

}  // namespace tutti
