#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/units.h"

namespace tutti {

// A body that is made while it is sent. Its connection pulls the next piece only when the client
// has taken the last one: so a client that stops reading costs one piece and nothing else. API
// thread.
class ByteSource {
 public:
  enum class Next {
    kMore,  // pull again as soon as this piece is sent
    kWait,  // nothing more now: pull when woken, or after poll_after()
    kEnd,   // this was the last piece
  };
  // How much one piece may hold, before encoding.
  static constexpr std::size_t kPiece = 256 * 1024;

  virtual ~ByteSource() = default;
  // Appends a piece to `out`, perhaps an empty one.
  virtual Next pull(std::string& out) = 0;
  // After kWait: when to pull even if nobody wakes.
  virtual std::optional<Duration> poll_after() const { return std::nullopt; }
  // Whom to tell that something new may be there. Called on the API's thread.
  void on_wake(std::function<void()> wake) { wake_ = std::move(wake); }

 protected:
  void wake() const {
    if (wake_) wake_();
  }

 private:
  std::function<void()> wake_;
};

}  // namespace tutti
