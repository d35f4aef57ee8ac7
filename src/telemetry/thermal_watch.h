#pragma once

namespace tutti {

// Says whether a GPU is too hot to get work: hot in several readings in a row, until it has been
// cool in several. One GPU, one thread.
class ThermalWatch {
 public:
  // Takes one reading and returns the verdict.
  bool judge(bool hot) {
    if (hot == too_hot_) {
      against_ = 0;
    } else if (++against_ >= (too_hot_ ? kCoolReadings : kHotReadings)) {
      too_hot_ = hot;
      against_ = 0;
    }
    return too_hot_;
  }

 private:
  static constexpr int kHotReadings = 3;
  // More than to become hot: a GPU at its limit must not come and go.
  static constexpr int kCoolReadings = 10;

  bool too_hot_ = false;
  int against_ = 0;
};

}  // namespace tutti
