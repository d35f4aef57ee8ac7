#include "telemetry/shared_library.h"

#include <dlfcn.h>

#include <utility>

namespace tutti {

Result<SharedLibrary> SharedLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle);
  const char* why = dlerror();
  return not_found("cannot open " + path + ": " + (why != nullptr ? why : "unknown reason"));
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace tutti
