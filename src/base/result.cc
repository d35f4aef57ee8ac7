#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace tutti {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return "invalid_input";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error io_error(std::string what, int error_number) {
  const bool used_up = error_number == ENOSPC || error_number == EMFILE || error_number == ENFILE ||
                       error_number == EDQUOT || error_number == ENOMEM;
  return {used_up ? ErrorCode::kExhausted : ErrorCode::kIo,
          std::move(what) + ": " + std::generic_category().message(error_number)};
}

}  // namespace tutti
