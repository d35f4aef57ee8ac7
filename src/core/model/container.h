#pragma once

#include <string>
#include <vector>

namespace tutti {

// What a container is made from, before it is there.
struct ImageBuild {
  std::string dockerfile;  // absolute; empty: nothing is built
  std::string context;     // folder, absolute
  std::string target;
  std::vector<std::string> args;  // "NAME=value"
  bool operator==(const ImageBuild&) const = default;
};

// How a job's commands run in a container; no image: they do not.
struct Container {
  std::string image;
  std::string runtime;  // "podman", "docker"; empty: whichever the node has
  ImageBuild build;
  std::vector<std::string> mounts;  // "HOST:INSIDE[:ro]"
  bool operator==(const Container&) const = default;
};

}  // namespace tutti
