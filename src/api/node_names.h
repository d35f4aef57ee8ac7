#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/model/ids.h"

namespace tutti {

// What nodes are called, for rows that know only their numbers. Any thread.
class NodeNames {
 public:
  void set(NodeId node, const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_[node] = name;
  }
  // Empty when unknown.
  std::string name(NodeId node) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(node);
    return found == names_.end() ? std::string() : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, std::string> names_;
};

}  // namespace tutti
