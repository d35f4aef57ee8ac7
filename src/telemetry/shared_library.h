#pragma once

#include <string>

#include "base/result.h"

namespace tutti {

// A library opened at run time; closed with this object. Functions of it must not be called after.
class SharedLibrary {
 public:
  static Result<SharedLibrary> open(const std::string& path);
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) = delete;
  ~SharedLibrary();

  // Null when the library does not have it.
  void* find(const char* symbol) const;

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace tutti
