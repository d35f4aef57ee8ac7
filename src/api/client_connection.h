#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace tutti {

// A byte stream to one client: unix socket, TCP or TLS. Owned by its conversation; API thread only.
// After close() the callbacks still come, with failure.
class ClientConnection {
 public:
  // Whether it worked, and how many bytes; zero bytes read is never success.
  using Done = std::function<void(bool ok, std::size_t bytes)>;

  virtual ~ClientConnection() = default;
  // What must happen before the first byte, such as TLS's handshake.
  virtual void open(std::function<void(bool ok)> done) = 0;
  virtual void read_some(char* data, std::size_t size, Done done) = 0;
  virtual void write_some(const char* data, std::size_t size, Done done) = 0;
  // Says that nothing more will be written.
  virtual void finish() = 0;
  virtual void close() = 0;
};

}  // namespace tutti
