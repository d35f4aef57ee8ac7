#include "exec/local/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <openssl/sha.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>

#include "base/unique_fd.h"
#include "exec/keeper/folders.h"

namespace tutti {
namespace {

constexpr std::size_t kDigestDigits = 64;

bool is_digest(std::string_view text) {
  return text.size() == kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Clones the blocks where the file system can, else copies them.
Result<void> copy_file(const std::string& from, const std::string& to, std::uint32_t mode) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return io_error("cannot read '" + from + "'", errno);
  const UniqueFd target(
      open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!target) return io_error("cannot make '" + to + "'", errno);
  if (ioctl(target.get(), FICLONE, source.get()) != 0) {
    ssize_t n = 0;
    while ((n = sendfile(target.get(), source.get(), nullptr, 1u << 30)) > 0) {
    }
    if (n < 0) return io_error("cannot write '" + to + "'", errno);
  }
  if (fchmod(target.get(), mode & 0777) != 0) return io_error("cannot write '" + to + "'", errno);
  return {};
}

Result<void> make_folders(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return io_error("cannot make the folder '" + path + "'", failed.value());
  return {};
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string SnapshotFolder::blob_path(const std::string& sha256) const {
  return home_ + "/blobs/" + sha256.substr(0, 2) + "/" + sha256.substr(2);
}

Result<std::vector<std::string>> SnapshotFolder::missing(const SnapshotManifest& manifest) {
  if (const Result<std::string> valid = snapshot_text(manifest); !valid) return valid.error();
  std::set<std::string> absent;
  for (const SnapshotEntry& entry : manifest) {
    if (entry.sha256.empty()) continue;
    if (access(blob_path(entry.sha256).c_str(), R_OK) != 0) absent.insert(entry.sha256);
  }
  return std::vector<std::string>(absent.begin(), absent.end());
}

Result<void> SnapshotFolder::put_blob(const std::string& sha256, std::string_view bytes) {
  if (!is_digest(sha256)) return invalid_input("'" + sha256 + "' is no SHA-256 digest");
  if (sha256_hex(bytes) != sha256) {
    return invalid_input("the content does not have the digest " + sha256);
  }
  const std::string path = blob_path(sha256);
  if (access(path.c_str(), R_OK) == 0) return {};
  if (Result<void> made = make_folders(path.substr(0, path.rfind('/'))); !made) return made;
  return replace_file(path, bytes);
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
  if (Result<void> kept = replace_file(home_ + "/snapshots/" + digest, *text); !kept) {
    return kept.error();
  }
  return digest;
}

Result<void> SnapshotFolder::materialise(const std::string& digest,
                                         const std::string& folder) const {
  if (access(folder.c_str(), F_OK) == 0) return {};
  if (!is_digest(digest)) return invalid_input("'" + digest + "' is no snapshot");
  const Result<std::string> text = read_whole_file(home_ + "/snapshots/" + digest);
  if (!text) return text.error();
  if (sha256_hex(*text) != digest) {
    return Error{ErrorCode::kCorrupt, "the snapshot " + digest + " is damaged"};
  }
  const Result<SnapshotManifest> manifest = parse_snapshot(*text);
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
