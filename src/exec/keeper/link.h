#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/keeper/codec.h"

namespace tutti {

// The keeper's socket and its one connection to a controller. A newer connection takes the place of
// the older one, after everything that the older one sent was read. Keeper thread only.
class Link {
 public:
  // `epoll` outlives the link.
  static Result<Link> create(const std::string& home, int epoll);

  int listener() const { return listener_.get(); }
  int peer() const { return peer_.get(); }
  bool connected() const { return static_cast<bool>(peer_); }

  // Takes a waiting connection. False: there is none.
  bool accept();
  // Reads once and hands whole frames to `visit`; false from it ends the connection. Returns
  // whether there may be more to read.
  bool receive(const std::function<bool(const Frame&)>& visit);
  // What send() could not pass on at once is kept and sent when the peer reads.
  void send(std::string& frames);
  void flush();
  bool has_unsent() const { return sent_ < out_.size(); }
  void disconnect();

 private:
  void watch(bool writable);

  int epoll_ = -1;
  UniqueFd listener_;
  UniqueFd peer_;
  bool deaf_ = false;  // the peer takes nothing any more
  bool wants_write_ = false;
  FrameBuffer in_;
  std::string out_;
  std::size_t sent_ = 0;
};

// Connects to the keeper below `home`; kUnavailable when none listens.
Result<UniqueFd> connect_to_keeper(const std::string& home);

}  // namespace tutti
