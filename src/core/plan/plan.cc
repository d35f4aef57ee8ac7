#include "core/plan/plan.h"

#include <algorithm>

namespace tutti {

const Reservation::Part* Reservation::on(NodeId node) const {
  const auto it =
      std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.node == node; });
  return it == parts.end() ? nullptr : &*it;
}

}  // namespace tutti
