#include <array>
#include <boost/json.hpp>

#include "api/call.h"
#include "base/process_stat.h"
#include "base/sha256.h"
#include "control/snapshots.h"
#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

const Error kNoSnapshots{ErrorCode::kUnsupported, "this daemon keeps no snapshots"};

// Files of one request to keep: other work of the daemon's background waits for all of them.
constexpr std::size_t kMostKept = 4096;

Error not_a_digest(std::string_view text) {
  return invalid_input(shown(text) + " is not a SHA-256: 64 lower-case hex digits are wanted");
}

Result<SnapshotEntry> entry_of(const json::value& value) {
  constexpr std::array<std::string_view, 4> kKeys = {"path", "mode", "sha256", "link"};
  const auto object = object_from_json(value, "a file of a snapshot", kKeys);
  if (!object) return object.error();
  const auto* path = (*object)->if_contains("path");
  const auto* mode = (*object)->if_contains("mode");
  const auto* digest = (*object)->if_contains("sha256");
  const auto* link = (*object)->if_contains("link");
  if (path == nullptr) return invalid_input("a file of a snapshot needs a path");
  if (digest != nullptr && link != nullptr) {
    return invalid_input("a file of a snapshot has a sha256 or a link, not both");
  }
  SnapshotEntry entry;
  auto path_text = word_from_json(*path, "path");
  if (!path_text) return path_text.error();
  entry.path = std::move(*path_text);
  if (mode != nullptr) {
    const auto bits = integer_from_json(*mode, "mode", 0, 07777);
    if (!bits) return bits.error();
    entry.mode = static_cast<std::uint32_t>(*bits);
  }
  if (digest != nullptr) {
    auto text = word_from_json(*digest, "sha256");
    if (!text) return text.error();
    if (!is_sha256(*text)) return not_a_digest(*text);
    entry.sha256 = std::move(*text);
  }
  if (link != nullptr) {
    auto text = word_from_json(*link, "link");
    if (!text) return text.error();
    if (text->empty()) return invalid_input("link must not be empty");
    entry.link_target = std::move(*text);
  }
  return entry;
}

Result<SnapshotManifest> manifest_of(std::string_view body) {
  constexpr std::array<std::string_view, 1> kKeys = {"files"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a snapshot", kKeys);
  if (!object) return object.error();
  const auto* files = (*object)->if_contains("files");
  const auto* array = files != nullptr ? files->if_array() : nullptr;
  if (array == nullptr) return invalid_input("a snapshot needs an array of files");
  SnapshotManifest manifest;
  manifest.reserve(array->size());
  for (const auto& element : *array) {
    auto entry = entry_of(element);
    if (!entry) {
      return invalid_input("file " + std::to_string(manifest.size() + 1) + ": " +
                           entry.error().message);
    }
    manifest.push_back(std::move(*entry));
  }
  return manifest;
}

HttpResponse add_manifest(Snapshots& snapshots, const std::string& body) {
  const auto manifest = manifest_of(body);
  if (!manifest) return error_response(manifest.error());
  const auto missing = snapshots.missing(*manifest);
  if (!missing) return error_response(missing.error());
  json::value digest;
  if (missing->empty()) {
    const auto saved = snapshots.save(*manifest);
    if (!saved) return error_response(saved.error());
    digest = text_to_json(*saved);
  }
  json::array list;
  for (const auto& sha256 : *missing) list.emplace_back(sha256);
  return json_response(200, json::object{{"digest", digest}, {"missing", std::move(list)}});
}

HttpResponse add_blob(Snapshots& snapshots, const std::string& sha256, std::string_view bytes) {
  const auto kept = snapshots.put_blob(sha256, bytes);
  return kept ? json_response(201, json::object()) : error_response(kept.error());
}

Result<SeenFile> seen_file_of(const json::value& value) {
  constexpr std::array<std::string_view, 7> kKeys = {"path",     "device",  "inode",   "size",
                                                     "modified", "changed", "as_found"};
  const auto object = object_from_json(value, "a file to keep", kKeys);
  if (!object) return object.error();
  SeenFile file;
  const std::array<std::int64_t*, 5> numbers = {&file.device, &file.inode, &file.size,
                                                &file.modified, &file.changed};
  const auto* path = (*object)->if_contains("path");
  if (path == nullptr) return invalid_input("a file to keep needs a path");
  auto text = word_from_json(*path, "path");
  if (!text) return text.error();
  file.path = std::move(*text);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view key = kKeys[i + 1];
    const auto* number = (*object)->if_contains(key);
    if (number == nullptr) return invalid_input("a file to keep needs " + std::string(key));
    const auto parsed = integer_from_json(*number, key, INT64_MIN, INT64_MAX);
    if (!parsed) return parsed.error();
    *numbers[i] = *parsed;
  }
  if (const auto* as_found = (*object)->if_contains("as_found")) {
    if (!as_found->is_bool()) return invalid_input("as_found must be true or false");
    file.as_found = as_found->as_bool();
  }
  return file;
}

Result<std::vector<SeenFile>> seen_files_of(std::string_view body) {
  constexpr std::array<std::string_view, 1> kKeys = {"files"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "files to keep", kKeys);
  if (!object) return object.error();
  const auto* files = (*object)->if_contains("files");
  const auto* array = files != nullptr ? files->if_array() : nullptr;
  if (array == nullptr || array->size() > kMostKept)
    return invalid_input("files to keep need an array of at most " + std::to_string(kMostKept) +
                         " files");
  std::vector<SeenFile> list;
  list.reserve(array->size());
  for (const auto& element : *array) {
    auto file = seen_file_of(element);
    if (!file)
      return invalid_input("file " + std::to_string(list.size() + 1) + ": " + file.error().message);
    list.push_back(std::move(*file));
  }
  return list;
}

// Not when the client has ended, as by Ctrl-C: its files may be large, and others wait.
bool is_wanted(const Call& call) {
  if (call.threads.stopping && call.threads.stopping()) return false;
  const Peer& peer = call.request.peer;
  if (peer.pid == 0 || peer.birth == 0) return true;
  const auto client = process_stat(peer.pid);
  return client && client->state != 'Z' && client->state != 'X' &&
         static_cast<std::int64_t>(client->start_ticks) == peer.birth;
}

HttpResponse keep_all(const Call& call, Snapshots& snapshots, const std::vector<SeenFile>& files) {
  json::array digests;
  const auto wanted = [&call] { return is_wanted(call); };
  for (const SeenFile& file : files) {
    const auto digest =
        call.request.peer.here ? snapshots.keep_file(file, wanted) : not_found(file.path);
    if (!digest && digest.error().code != ErrorCode::kNotFound)
      return error_response(digest.error());
    digests.push_back(digest ? json::value(*digest) : json::value());
  }
  return json_response(200, json::object{{"digests", std::move(digests)}});
}

// Hashing and writing take long: other clients must not wait for it.
template <typename Work>
void answer_later(const CallPtr& call, Work work) {
  call->threads.background([call, work = std::move(work)] {
    HttpResponse response = work();
    call->threads.api(
        [call, response = std::move(response)]() mutable { call->respond(std::move(response)); });
  });
}

}  // namespace

void add_snapshot(const CallPtr& call) {
  Snapshots* snapshots = call->services.snapshots;
  if (snapshots == nullptr) return call->fail(kNoSnapshots);
  answer_later(call, [call, snapshots] { return add_manifest(*snapshots, call->request.body); });
}

void put_blob(const CallPtr& call) {
  Snapshots* snapshots = call->services.snapshots;
  if (snapshots == nullptr) return call->fail(kNoSnapshots);
  const std::string& sha256 = call->target.segments[2];
  if (!is_sha256(sha256)) return call->fail(not_a_digest(sha256));
  answer_later(call, [call, snapshots, &sha256] {
    return add_blob(*snapshots, sha256, call->request.body);
  });
}

// The daemon reads it as its own user, for clients at the unix socket alone, which is that user's.
// For those that come over TCP none of its files is there.
void keep_files(const CallPtr& call) {
  Snapshots* snapshots = call->services.snapshots;
  if (snapshots == nullptr) return call->fail(kNoSnapshots);
  auto files = seen_files_of(call->request.body);
  if (!files) return call->fail(files.error());
  answer_later(call, [call, snapshots, files = *std::move(files)] {
    return keep_all(*call, *snapshots, files);
  });
}

}  // namespace tutti
