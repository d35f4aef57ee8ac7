#include <algorithm>
#include <utility>

#include "core/elastic/policies.h"
#include "core/elastic/wanted.h"

namespace tutti {
namespace {

// Two halvings.
constexpr std::uint32_t kMostShrink = 4;
// A running job is not restarted for less than this part of its fastest speed.
constexpr double kLeastUpgrade = 0.05;

// A change of one job's cell.
struct CellChange {
  std::size_t job = 0;
  std::size_t option = 0;
};

// One decision: what everybody has so far, and what is free.
class Cells {
 public:
  explicit Cells(const ElasticSnapshot& snapshot)
      : snapshot_(snapshot), free_(snapshot), choices_(snapshot.jobs.size()) {
    for (const ElasticJob& job : snapshot.jobs) best_.push_back(best_rate(job));
    free_.keep_running(snapshot, choices_);
  }

  void place_waiting() {
    for (std::size_t i = 0; i < choices_.size(); ++i)
      if (!choices_[i]) place(i);
  }
  void upgrade_running();
  Choices take_choices() { return std::move(choices_); }

 private:
  const Shape& shape(std::size_t job, std::size_t option) const {
    return snapshot_.jobs[job].options[option].shape;
  }
  // Speed as part of the job's fastest.
  double speed(std::size_t job, std::size_t option) const {
    return snapshot_.jobs[job].options[option].rate / best_[job];
  }
  // Whether that is not much less than was asked for, as far as more is on offer.
  bool enough(std::size_t job, std::size_t option) const {
    std::uint32_t offered = 0;
    for (const ShapeOption& one : snapshot_.jobs[job].options)
      offered = std::max(offered, one.shape.devices);
    const std::uint32_t wanted = std::min(snapshot_.jobs[job].wanted, offered);
    return shape(job, option).devices * kMostShrink >= wanted;
  }
  // Whether the choice of a job may still be changed.
  bool open(std::size_t job) const { return choices_[job] && !snapshot_.jobs[job].starting; }
  void place(std::size_t job);
  // Appends what lets `shape` fit and returns the speed that it costs; none: it cannot be done for
  // less than `limit`.
  std::optional<double> make_room(const Shape& shape, double limit,
                                  std::vector<CellChange>& changes) const;
  struct Way {
    CellChange change;
    double loss = 0;
    double loss_per_device = 0;
  };
  std::optional<Way> cheapest_way(std::size_t job, std::uint32_t pool,
                                  const FreeDevices& free) const;
  void change(const CellChange& change);

  const ElasticSnapshot& snapshot_;
  FreeDevices free_;
  Choices choices_;
  std::vector<double> best_;
};

void Cells::change(const CellChange& change) {
  auto& choice = choices_[change.job];
  if (choice) free_.give_back(shape(change.job, *choice));
  choice = change.option;
  free_.take(shape(change.job, change.option));
}

void Cells::place(std::size_t job) {
  double most = 0;
  std::optional<std::size_t> option;
  std::vector<CellChange> changes;
  for (std::size_t o = 0; o < snapshot_.jobs[job].options.size(); ++o) {
    const double gain = speed(job, o);
    if (!enough(job, o) || gain <= most) continue;
    std::vector<CellChange> room;
    const auto loss = make_room(shape(job, o), gain - most, room);
    if (!loss) continue;
    most = gain - *loss;
    option = o;
    changes = std::move(room);
  }
  if (!option) return;
  // Each makes room for the next; devices of a pool that only becomes free are given last.
  for (const CellChange& one : changes) change(one);
  change({job, *option});
}

std::optional<Cells::Way> Cells::cheapest_way(std::size_t job, std::uint32_t pool,
                                              const FreeDevices& free) const {
  const std::size_t now = *choices_[job];
  const Shape& held = shape(job, now);
  std::optional<Way> best;
  for (std::size_t o = 0; o < snapshot_.jobs[job].options.size(); ++o) {
    const Shape& other = shape(job, o);
    const bool shrinks = other.pool == pool && other.devices < held.devices &&
                         other.devices * kMostShrink >= held.devices;
    const bool leaves = other.pool != pool && free.fits(other);
    if (!enough(job, o) || (!shrinks && !leaves)) continue;
    const double loss = speed(job, now) - speed(job, o);
    const double freed = held.devices - (shrinks ? other.devices : 0);
    if (!best || loss / freed < best->loss_per_device) best = Way{{job, o}, loss, loss / freed};
  }
  return best;
}

std::optional<double> Cells::make_room(const Shape& shape_wanted, double limit,
                                       std::vector<CellChange>& changes) const {
  if (free_.fits(shape_wanted)) return 0;
  std::vector<Way> ways;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (!open(i) || shape(i, *choices_[i]).pool != shape_wanted.pool) continue;
    if (const auto way = cheapest_way(i, shape_wanted.pool, free_)) ways.push_back(*way);
  }
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.loss_per_device < b.loss_per_device;
  });
  FreeDevices free = free_;
  double loss = 0;
  for (const Way& way : ways) {
    const Shape& other = shape(way.change.job, way.change.option);
    if (other.pool != shape_wanted.pool && !free.fits(other)) continue;
    loss += way.loss;
    if (loss >= limit) return std::nullopt;
    free.give_back(shape(way.change.job, *choices_[way.change.job]));
    free.take(other);
    changes.push_back(way.change);
    if (free.fits(shape_wanted)) return loss;
  }
  return std::nullopt;
}

void Cells::upgrade_running() {
  for (;;) {
    double most = kLeastUpgrade;
    std::optional<CellChange> best;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (!open(i)) continue;
      const double now = speed(i, *choices_[i]);
      if (now + most >= 1) continue;
      for (std::size_t o = 0; o < snapshot_.jobs[i].options.size(); ++o) {
        const double gain = speed(i, o) - now;
        if (gain <= most || !free_.fits_instead(shape(i, o), shape(i, *choices_[i]))) continue;
        most = gain;
        best = CellChange{i, o};
      }
    }
    if (!best) return;
    change(*best);
  }
}

// Crius: a job's options are its cells, and speed counts as part of the job's fastest cell.
//  1. Running jobs keep their cells.
//  2. A waiting job, in the order of submission, takes the fastest cell that is free with at least
//  a
//     quarter of the devices that its user asked for (two halvings), or a faster one for which
//     running jobs shrink (two halvings at most) or change their pool, whichever adds most speed in
//     all; a cell that does not add any is not taken.
//  3. Devices that are idle then go to the running jobs that gain most by them.
// Knows nothing of lengths, and does not weigh the price of changes: its author takes them to be
// cheap. Remembers nothing.
class CellsPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override;
};

Choices CellsPolicy::decide(const ElasticSnapshot& snapshot) {
  Cells cells(snapshot);
  cells.place_waiting();
  cells.upgrade_running();
  return cells.take_choices();
}

}  // namespace

std::unique_ptr<ElasticPolicy> make_cells_policy() {
  return std::make_unique<CellsPolicy>();
}

}  // namespace tutti
