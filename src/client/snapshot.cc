#include "client/snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "client/digest_cache.h"
#include "client/folder_walk.h"
#include "client/kept_files.h"
#include "client/views.h"
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

// The content of a file in pieces, to `sink`.
template <typename Sink>
Result<void> read_pieces(const std::string& path, const Sink& sink) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return io_error("snapshot: cannot read " + path, errno);
  std::string chunk(1 << 16, '\0');
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("snapshot: cannot read " + path, errno);
    if (got == 0) return {};
    sink(std::string_view(chunk.data(), static_cast<std::size_t>(got)));
  }
}

Result<std::string> sha256_of_file(const std::string& path) {
  Sha256 hash;
  const auto read = read_pieces(path, [&](std::string_view piece) { hash.add(piece); });
  if (!read) return read.error();
  return hash.finish();
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
  std::string content;
  const auto read = read_pieces(path, [&](std::string_view piece) { content += piece; });
  if (!read) return read.error();
  const std::string digest = sha256_hex(content);
  if (auto sent = client.upload("/v1/blobs/" + digest, content); !sent) return sent.error();
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
  auto files = walk_folder(folder, choice);
  if (!files) return files;
  DigestCache cache(choice.digests);
  if (auto done = identify(*files, folder, cache, keeper, step); !done) return done.error();
  return files;
}

Result<std::string> take_snapshot(Client& client, const std::string& folder,
                                  const SnapshotStep& step, const SnapshotChoice& choice) {
  auto status = client.request("GET", "/v1/status", {});
  if (!status) return status.error();
  SnapshotChoice complete = choice;
  complete.home = status_view(*status).home;
  auto files = list_snapshot(folder, step, complete, &client);
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
