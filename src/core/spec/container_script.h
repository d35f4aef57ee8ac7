#pragma once

namespace tutti {

// container.sh without its comments, built in by cmake/EmbedText.cmake: what a POSIX shell is
// given with -c to run, build for and remove containers. container.cc says with which words.
extern const char kContainerScript[];

}  // namespace tutti
