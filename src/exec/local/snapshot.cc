#include "exec/local/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>

#include "base/check.h"
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

std::string hex_of(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

// In pieces, whatever its size; what was read is on disk afterwards.
Result<std::string> sha256_of_file(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  TUTTI_CHECK(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  std::string chunk(std::size_t{1} << 20, '\0');
  ssize_t n = -1;
  while (file && (n = read(file.get(), chunk.data(), chunk.size())) > 0)
    EVP_DigestUpdate(context.get(), chunk.data(), static_cast<std::size_t>(n));
  if (n < 0) return io_error("cannot read '" + path + "'", errno);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  return hex_of(digest.data(), size);
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
  return hex_of(digest.data(), digest.size());
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
  return replace_file(path, bytes, false);
}

Result<void> SnapshotFolder::copy_blob(const std::string& sha256, const std::string& path) {
  if (!is_digest(sha256)) return invalid_input("'" + sha256 + "' is no SHA-256 digest");
  const std::string blob = blob_path(sha256);
  if (access(blob.c_str(), R_OK) == 0) return {};
  struct stat status {};
  if (!path.starts_with('/') || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return not_found("there is no file '" + path + "' on this machine");
  if (Result<void> made = make_folders(blob.substr(0, blob.rfind('/'))); !made) return made;
  static std::atomic<unsigned> number{0};
  const std::string fresh =
      blob + ".new." + std::to_string(getpid()) + "." + std::to_string(number++);
  Result<void> kept = copy_file(path, fresh, 0600);
  // Of the copy: the file itself may change meanwhile.
  const Result<std::string> digest =
      kept ? sha256_of_file(fresh) : Result<std::string>(kept.error());
  if (kept && !digest) kept = digest.error();
  if (kept && *digest != sha256)
    kept = invalid_input("the content of '" + path + "' does not have the digest " + sha256);
  if (kept && rename(fresh.c_str(), blob.c_str()) != 0)
    kept = io_error("cannot write the file '" + blob + "'", errno);
  if (!kept) unlink(fresh.c_str());
  return kept;
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

// Content is written without waiting for the disk, so that a power cut may have damaged it.
Result<void> SnapshotFolder::check_blob(const std::string& sha256) const {
  const std::string path = blob_path(sha256);
  const Result<std::string> digest = sha256_of_file(path);
  if (!digest) return digest.error();
  if (*digest == sha256) return {};
  unlink(path.c_str());
  return Error{ErrorCode::kCorrupt, "a file of the snapshot was damaged; submit the job once more"};
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
    if (Result<void> whole = check_blob(entry.sha256); !whole) return whole;
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
