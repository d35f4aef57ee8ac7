#include "exec/local/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "exec/keeper/folders.h"
#include "exec/local/known_blobs.h"

namespace tutti {
namespace {

// What is smaller is read as a whole.
constexpr std::int64_t kSmallFile = std::int64_t{256} << 10;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Whether the open file is the one that was seen, and as it was then.
bool is_as_seen(int fd, const SeenFile& seen) {
  struct stat now {};
  if (fstat(fd, &now) != 0 || !S_ISREG(now.st_mode)) return false;
  SeenFile same = seen;
  same.device = static_cast<std::int64_t>(now.st_dev);
  same.inode = static_cast<std::int64_t>(now.st_ino);
  if (!seen.as_found) {
    same.size = now.st_size;
    same.modified = nanoseconds(now.st_mtim);
    same.changed = nanoseconds(now.st_ctim);
  }
  return same == seen;
}

Error is_another(const SeenFile& file) {
  return not_found("'" + file.path + "' is not the file that was seen, or not here");
}

}  // namespace

std::string SnapshotFolder::blob_path(const std::string& sha256) const {
  return home_ + "/blobs/" + sha256.substr(0, 2) + "/" + sha256.substr(2);
}

Result<std::vector<std::string>> SnapshotFolder::missing(const SnapshotManifest& manifest) {
  if (const Result<std::string> valid = snapshot_text(manifest); !valid) return valid.error();
  std::set<std::string> absent;
  for (const SnapshotEntry& entry : manifest) {
    if (entry.sha256.empty()) continue;
    if (!use_file(blob_path(entry.sha256))) absent.insert(entry.sha256);
  }
  return std::vector<std::string>(absent.begin(), absent.end());
}

Result<void> SnapshotFolder::put_blob(const std::string& sha256, std::string_view bytes) {
  if (!is_sha256(sha256)) return invalid_input("'" + sha256 + "' is no SHA-256 digest");
  if (sha256_hex(bytes) != sha256) {
    return invalid_input("the content does not have the digest " + sha256);
  }
  return write_blob(sha256, bytes);
}

Result<void> SnapshotFolder::write_blob(const std::string& sha256, std::string_view bytes) {
  const std::string path = blob_path(sha256);
  if (use_file(path)) return {};
  if (Result<void> made = make_folders(path.substr(0, path.rfind('/'))); !made) return made;
  return replace_file(path, bytes, false);
}

// Read as a whole, so that content which is there already is not written again.
Result<std::string> SnapshotFolder::keep_small(int source, const SeenFile& file) {
  std::string content;
  content.reserve(static_cast<std::size_t>(file.size) + 1);
  Result<std::string> digest = read_hashed(source, file.path, [&](std::string_view bytes) {
    content += bytes;
    return Result<void>();
  });
  if (!digest) return digest;
  if (!is_as_seen(source, file)) return is_another(file);
  if (Result<void> kept = write_blob(*digest, content); !kept) return kept.error();
  return digest;
}

Result<std::string> SnapshotFolder::keep_file(const SeenFile& file, const Wanted& wanted) {
  // A link, or a pipe on which one would wait, is not what is meant.
  const UniqueFd source(
      file.path.starts_with('/')
          ? open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
          : -1);
  if (!source || !is_as_seen(source.get(), file)) return is_another(file);
  if (!file.as_found && file.size < kSmallFile) {
    return keep_small(source.get(), file);
  }
  if (Result<void> made = make_folders(home_ + "/blobs"); !made) return made.error();
  static std::atomic<unsigned> number{0};
  const std::string fresh =
      home_ + "/blobs/new." + std::to_string(getpid()) + "." + std::to_string(number++);
  Result<std::string> digest = copy_hashed(source.get(), file.path, fresh, wanted);
  if (digest && !is_as_seen(source.get(), file)) digest = is_another(file);
  if (digest) {
    const std::string blob = blob_path(*digest);
    const Result<void> made = make_folders(blob.substr(0, blob.rfind('/')));
    if (!made) {
      digest = made.error();
    } else if (use_file(blob)) {
      // To put it in the place of the same would have file systems write it out at once.
      unlink(fresh.c_str());
    } else if (struct stat status{};
               stat(fresh.c_str(), &status) != 0 || rename(fresh.c_str(), blob.c_str()) != 0) {
      digest = io_error("cannot write the file '" + blob + "'", errno);
    } else {
      KnownBlobs::of_this_process().saw_whole(*digest, status);
    }
  }
  if (!digest) unlink(fresh.c_str());
  return digest;
}

Result<std::string> SnapshotFolder::save(const SnapshotManifest& manifest) {
  const Result<std::string> text = snapshot_text(manifest);
  if (!text) return text.error();
  const Result<std::vector<std::string>> absent = missing(manifest);
  if (!absent) return absent.error();
  if (!absent->empty()) {
    return not_found("the content " + absent->front() + " of the snapshot was not sent yet");
  }
  const std::string digest = sha256_hex(*text);
  if (Result<void> made = make_folders(home_ + "/snapshots"); !made) return made.error();
  // A prune may take it for the old one that was there, once.
  for (int writes = 0; writes < 2; ++writes) {
    const Result<void> kept = replace_file(home_ + "/snapshots/" + digest, *text);
    if (!kept) return kept.error();
    if (use(digest)) return digest;
  }
  return not_found("the snapshot " + digest + " was removed while it was written");
}

bool SnapshotFolder::use(const std::string& digest) {
  return is_sha256(digest) && use_file(home_ + "/snapshots/" + digest);
}

Result<SnapshotManifest> SnapshotFolder::load(const std::string& digest) const {
  if (!is_sha256(digest)) return invalid_input("'" + digest + "' is no snapshot");
  const Result<std::string> text = read_file(home_ + "/snapshots/" + digest);
  if (!text) return text.error();
  if (sha256_hex(*text) != digest) {
    return Error{ErrorCode::kCorrupt, "the snapshot " + digest + " is damaged"};
  }
  return parse_snapshot(*text);
}

Result<void> SnapshotFolder::materialise(const std::string& digest,
                                         const std::string& folder) const {
  if (access(folder.c_str(), F_OK) == 0) return {};
  const Result<SnapshotManifest> manifest = load(digest);
  if (!manifest) return manifest.error();
  const std::string fresh = folder + ".new";
  remove_tree(fresh);
  if (Result<void> made = make_folders(fresh); !made) return made;
  Result<void> filled = fill(*manifest, fresh);
  if (filled && rename(fresh.c_str(), folder.c_str()) != 0) {
    filled = io_error("cannot make the folder '" + folder + "'", errno);
  }
  if (!filled) remove_tree(fresh);
  return filled;
}

Result<std::int64_t> SnapshotFolder::blob_size(const std::string& sha256) const {
  const std::string path = blob_path(sha256);
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return io_error("cannot read '" + path + "'", errno);
  return std::int64_t{status.st_size};
}

Result<std::vector<FileExtent>> SnapshotFolder::blob_extents(const std::string& sha256) const {
  const std::string path = blob_path(sha256);
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    return io_error("cannot read '" + path + "'", errno);
  return extents_of(file.get(), status.st_size);
}

// Content is written without waiting for the disk, so that a power cut may have damaged it.
Result<void> SnapshotFolder::read_blob(const std::string& sha256, const ContentSink& sink) const {
  const std::string path = blob_path(sha256);
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return io_error("cannot read '" + path + "'", errno);
  const Result<std::string> digest = read_hashed(file.get(), path, sink);
  if (!digest) return digest.error();
  struct stat status {};
  if (*digest == sha256 && fstat(file.get(), &status) == 0)
    KnownBlobs::of_this_process().saw_whole(sha256, status);
  if (*digest == sha256) return {};
  unlink(path.c_str());
  return Error{ErrorCode::kCorrupt, "a file of the snapshot was damaged; submit the job once more"};
}

UniqueFd SnapshotFolder::open_known(const std::string& sha256) const {
  UniqueFd file(open(blob_path(sha256).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 ||
      !KnownBlobs::of_this_process().knows(sha256, status))
    return UniqueFd();
  return file;
}

Result<void> SnapshotFolder::fill(const SnapshotManifest& manifest,
                                  const std::string& folder) const {
  for (const SnapshotEntry& entry : manifest) {
    if (!entry.link_target.empty()) continue;
    const std::string path = folder + "/" + entry.path;
    const bool is_file = !entry.sha256.empty();
    if (Result<void> made = make_folders(is_file ? path.substr(0, path.rfind('/')) : path); !made) {
      return made;
    }
    if (!is_file) continue;
    const auto look = [](std::string_view) { return Result<void>(); };
    if (Result<void> whole = read_blob(entry.sha256, look); !whole) return whole;
    if (Result<void> copied = copy_file(blob_path(entry.sha256), path, entry.mode); !copied) {
      return copied;
    }
  }
  // Last, so that nothing is ever written through one.
  for (const SnapshotEntry& entry : manifest) {
    if (entry.link_target.empty()) continue;
    const std::string path = folder + "/" + entry.path;
    if (Result<void> made = make_folders(path.substr(0, path.rfind('/'))); !made) return made;
    if (symlink(entry.link_target.c_str(), path.c_str()) != 0) {
      return io_error("cannot make the link '" + path + "'", errno);
    }
  }
  return {};
}

}  // namespace tutti
