#include "client/kept_files.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>

#include "base/sha256.h"
#include "client/digest_cache.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// One request: the daemon does one at a time, and what is shown moves on after each.
constexpr std::size_t kMostFiles = 1000;
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

// How many of the files from `first` on go into one request; at least one.
std::size_t size_of_request(const std::vector<FileToKeep>& files, std::size_t first) {
  std::int64_t bytes = files[first].status.st_size;
  std::size_t count = 1;
  while (first + count < files.size() && count < kMostFiles) {
    const std::int64_t next = files[first + count].status.st_size;
    if (next > kMostBytes - std::min(bytes, kMostBytes)) break;
    bytes += next;
    ++count;
  }
  return count;
}

json::object file_to_json(const FileToKeep& file, KeptAs as) {
  return {{"path", text_to_json(file.path)},
          {"device", static_cast<std::int64_t>(file.status.st_dev)},
          {"inode", static_cast<std::int64_t>(file.status.st_ino)},
          {"size", std::int64_t{file.status.st_size}},
          {"modified", nanoseconds(file.status.st_mtim)},
          {"changed", nanoseconds(file.status.st_ctim)},
          {"as_found", as == KeptAs::kFound}};
}

Result<std::vector<std::string>> digests_of(const json::value& answer, std::size_t count) {
  const Error odd{ErrorCode::kInternal, "snapshot: the daemon's answer lacks digests"};
  const auto* object = answer.if_object();
  const auto* field = object != nullptr ? object->if_contains("digests") : nullptr;
  const auto* list = field != nullptr ? field->if_array() : nullptr;
  if (list == nullptr || list->size() != count) return odd;
  std::vector<std::string> digests;
  for (const json::value& element : *list) {
    const auto* text = element.if_string();
    if (!element.is_null() && (text == nullptr || !is_sha256(*text))) return odd;
    digests.emplace_back(text != nullptr ? std::string(*text) : "");
  }
  return digests;
}

}  // namespace

Result<std::vector<std::string>> keep_files(Client& client, const std::vector<FileToKeep>& files,
                                            const std::function<void(std::size_t)>& step,
                                            KeptAs as) {
  std::vector<std::string> all;
  bool here = true;
  while (all.size() < files.size() && here) {
    const std::size_t count = size_of_request(files, all.size());
    json::array list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(file_to_json(files[all.size() + i], as));
    const json::object body{{"files", std::move(list)}};
    const auto answer = client.request("POST", "/v1/blobs", json::serialize(body));
    // Daemons that are older than this have no such route.
    if (!answer && answer.error().code == ErrorCode::kNotFound) break;
    if (!answer) return answer.error();
    auto digests = digests_of(*answer, count);
    if (!digests) return digests.error();
    // One that knows none of them is on another machine: the rest need not be tried.
    here = std::any_of(digests->begin(), digests->end(), [](auto& one) { return !one.empty(); });
    all.insert(all.end(), digests->begin(), digests->end());
    step(all.size());
  }
  all.resize(files.size());
  return all;
}

}  // namespace tutti
