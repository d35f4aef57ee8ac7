#include <algorithm>
#include <map>

#include "core/elastic/policies.h"

namespace tutti {
namespace {

// Devices × seconds after which a job goes to the second queue.
constexpr double kFirstQueue = 57'600;

// Tiresias with two queues: who has had little comes first, in the order of arrival; who does not
// fit makes room for smaller ones behind.
class LasPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override {
    std::map<JobId, std::size_t> place;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) place.emplace(snapshot.jobs[j].id, j);
    const auto is_over = [&](JobId id) { return !place.contains(id); };
    std::erase_if(first_, is_over);
    std::erase_if(second_, is_over);
    for (const ElasticJob& job : snapshot.jobs) {
      if (job.id.value <= newest_.value) continue;
      newest_ = job.id;
      first_.push_back(job.id);
    }
    for (const ElasticJob& job : snapshot.jobs) {
      const auto at = std::find(first_.begin(), first_.end(), job.id);
      if (at == first_.end() || job.executed_s * job.wanted < kFirstQueue) continue;
      first_.erase(at);
      second_.push_back(job.id);
    }
    std::vector<std::uint32_t> left;
    for (const Pool& pool : snapshot.pools) left.push_back(pool.devices());
    Choices choices(snapshot.jobs.size());
    order_.clear();
    for (const std::vector<JobId>* queue : {&first_, &second_}) {
      for (const JobId id : *queue) {
        const std::size_t j = place.at(id);
        choices[j] = take(snapshot.jobs[j], left);
        order_.push_back(j);
      }
    }
    return choices;
  }

  std::vector<std::size_t> order() const override { return order_; }

 private:
  // Where it runs already, else where it is fastest of what has room.
  static std::optional<std::size_t> take(const ElasticJob& job, std::vector<std::uint32_t>& left) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < job.options.size(); ++i) {
      const ShapeOption& option = job.options[i];
      if (option.shape.devices != job.wanted || option.shape.devices > left[option.shape.pool])
        continue;
      if (job.current == i) {
        best = i;
        break;
      }
      if (!best || option.rate > job.options[*best].rate) best = i;
    }
    if (best) left[job.options[*best].shape.pool] -= job.wanted;
    return best;
  }

  std::vector<JobId> first_;
  std::vector<JobId> second_;
  JobId newest_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::unique_ptr<ElasticPolicy> make_las_policy() {
  return std::make_unique<LasPolicy>();
}

}  // namespace tutti
