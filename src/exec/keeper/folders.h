#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

// Makes a folder that only its owner can enter, if it is not there. Its parent must exist.
Result<void> make_private_folder(const std::string& path);

// Makes the folders above the file `path`, which is relative to the folder `base_fd` unless it is
// absolute. False: errno tells why.
bool make_parent_folders(int base_fd, const std::string& path);

// Makes a folder and those above it that are not there.
Result<void> make_folders(const std::string& path);

// Removes a folder and all that is in it, as far as possible.
void remove_tree(const std::string& path);

// Renames a file or a folder to PATH.N with the first number that is free, and returns that name.
Result<std::string> set_aside(const std::string& path);

// Replaces a file as a whole: readers see the old content or the new one, also after a crash of the
// machine, unless it need not be `lasting`.
Result<void> replace_file(const std::string& path, std::string_view content, bool lasting = true);

// The whole content of a small file; more than a megabyte is kCorrupt.
Result<std::string> read_small_file(const std::string& path);
// The same of a file of any size.
Result<std::string> read_file(const std::string& path);

}  // namespace tutti
