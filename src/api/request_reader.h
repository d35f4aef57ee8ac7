#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "api/http.h"

namespace tutti {

// Turns bytes into HTTP/1 requests, one after the other. Owned by one connection; no socket is
// behind it. Once it failed it takes nothing more.
class RequestReader {
 public:
  static constexpr std::size_t kMostHeaderBytes = 64 * 1024;
  enum class Step {
    kMore,    // needs bytes
    kHeader,  // the header is complete: token() and expects_continue() can be asked. Feed on
    kDone,    // a whole request: take() it
    kFailed,  // see failure()
  };

  RequestReader();
  ~RequestReader();

  // Reads from the front of `bytes` and says how many it used. What it did not use must come again,
  // with more behind it.
  Step feed(std::string_view bytes, std::size_t& used);

  // Some of a request is there, but not all.
  bool begun() const;
  // The token of "Authorization: Bearer TOKEN"; empty: none.
  std::string token() const;
  bool expects_continue() const;

  HttpRequest take();
  // Of the request that take() gave: whether the client may send another.
  bool keep_alive() const { return keep_alive_; }

  const HttpResponse& failure() const { return failure_; }

 private:
  struct Parser;
  Step fail(int status, ErrorCode code, const std::string& message);
  Step header_done();

  std::unique_ptr<Parser> parser_;
  std::uint64_t body_limit_ = 0;
  bool header_told_ = false;
  bool begun_ = false;
  bool keep_alive_ = false;
  bool failed_ = false;
  HttpResponse failure_;
};

}  // namespace tutti
