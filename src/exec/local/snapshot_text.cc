#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "exec/local/snapshot.h"

namespace tutti {
namespace {

constexpr std::string_view kFirstLine = "tutti-snapshot 1";

bool is_plain(unsigned char c) {
  return c > ' ' && c != '%' && c != 0x7f;
}

// Blanks, control characters and '%' as %XX, so that a line has fixed places for its fields.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte)) {
      out += c;
    } else {
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

bool unescape(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!is_plain(static_cast<unsigned char>(text[i]))) return false;
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (text.size() - i < 3) return false;
    const char* const end = text.data() + i + 3;
    const auto parsed = std::from_chars(text.data() + i + 1, end, value, 16);
    if (parsed.ptr != end) return false;
    out += static_cast<char>(value);
    i += 2;
  }
  return true;
}

// Below the work directory by its text alone: links are checked against the other entries.
bool stays_below(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool is_sound(const SnapshotEntry& entry) {
  if (!stays_below(entry.path)) return false;
  if (entry.link_target.find('\0') != std::string::npos) return false;
  if (!entry.link_target.empty()) return entry.sha256.empty();
  return entry.sha256.empty() || is_sha256(entry.sha256);
}

// In sorted order: no path twice, and none below what is no folder.
Result<void> check_tree(const SnapshotManifest& sorted) {
  const auto by_path = [](const SnapshotEntry& entry, std::string_view path) {
    return entry.path < path;
  };
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string_view path = sorted[i].path;
    if (!is_sound(sorted[i])) {
      return invalid_input("the snapshot's entry '" + sorted[i].path +
                           "' is not a path below the work directory with content of its own");
    }
    if (i > 0 && sorted[i - 1].path == path) {
      return invalid_input("the snapshot has the path '" + sorted[i].path + "' twice");
    }
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
      const std::string_view above = path.substr(0, slash);
      const auto at = std::lower_bound(sorted.begin(), sorted.end(), above, by_path);
      const bool there = at != sorted.end() && at->path == above;
      if (there && !(at->sha256.empty() && at->link_target.empty())) {
        return invalid_input("the snapshot's path '" + sorted[i].path + "' goes through '" +
                             std::string(above) + "', which is no folder");
      }
    }
  }
  return {};
}

std::string octal(std::uint32_t mode) {
  std::string text;
  for (int shift = 6; shift >= 0; shift -= 3) text += static_cast<char>('0' + (mode >> shift & 7));
  return text;
}

bool parse_line(std::string_view line, SnapshotEntry& entry) {
  std::array<std::string_view, 4> fields;
  std::size_t count = 0;
  while (count < fields.size()) {
    const std::size_t blank = line.find(' ');
    fields[count++] = line.substr(0, blank);
    if (blank == std::string_view::npos) break;
    line.remove_prefix(blank + 1);
    if (count == fields.size()) return false;
  }
  if (fields[0] == "l" && count == 3) {
    return unescape(fields[1], entry.link_target) && unescape(fields[2], entry.path) &&
           !entry.link_target.empty();
  }
  const bool is_file = fields[0] == "f" && count == 4;
  if (!is_file && !(fields[0] == "d" && count == 3)) return false;
  const char* const end = fields[1].data() + fields[1].size();
  const auto parsed = std::from_chars(fields[1].data(), end, entry.mode, 8);
  if (parsed.ptr != end || fields[1].size() != 3) return false;
  if (is_file) entry.sha256 = fields[2];
  return (!is_file || !entry.sha256.empty()) && unescape(fields[count - 1], entry.path);
}

}  // namespace

Result<std::string> snapshot_text(const SnapshotManifest& manifest) {
  SnapshotManifest sorted = manifest;
  std::sort(sorted.begin(), sorted.end(),
            [](const SnapshotEntry& a, const SnapshotEntry& b) { return a.path < b.path; });
  if (Result<void> sound = check_tree(sorted); !sound) return sound.error();
  std::string text(kFirstLine);
  text += '\n';
  for (const SnapshotEntry& entry : sorted) {
    if (!entry.link_target.empty()) {
      text += "l " + escape(entry.link_target);
    } else if (!entry.sha256.empty()) {
      text += "f " + octal(entry.mode) + " " + entry.sha256;
    } else {
      text += "d " + octal(entry.mode);
    }
    text += " " + escape(entry.path) + "\n";
  }
  return text;
}

Result<SnapshotManifest> parse_snapshot(std::string_view text) {
  const Error damaged{ErrorCode::kCorrupt, "a stored snapshot is damaged or of a newer version"};
  SnapshotManifest manifest;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return damaged;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (first) {
      if (line != kFirstLine) return damaged;
      first = false;
      continue;
    }
    SnapshotEntry entry;
    if (!parse_line(line, entry)) return damaged;
    manifest.push_back(std::move(entry));
  }
  const Result<std::string> again = snapshot_text(manifest);
  if (first || !again) return damaged;
  return manifest;
}

}  // namespace tutti
