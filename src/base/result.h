#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace tutti {

// Why something failed, as far as a caller can act on it. The message carries the rest.
enum class ErrorCode {
  kInvalidInput,  // what was given is wrong; giving it again will not help
  kNotFound,      // the thing named does not exist
  kConflict,      // it exists already, or its state forbids this
  kDenied,        // not allowed
  kUnavailable,   // not reachable now; may work later
  kTimeout,       // no answer in time
  kExhausted,     // disk, memory, descriptors or a limit is used up
  kCorrupt,       // stored data cannot be trusted
  kUnsupported,   // a version or a feature that this program does not know
  kIo,            // the system refused an operation
  kInternal,      // a bug on our side that did no damage
};

// The lower-case name that JSON and logs use, such as "invalid_input".
const char* error_code_name(ErrorCode code);

// A failure of the world or of input: what failed, on what, and what to do, in words for the user.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

inline Error invalid_input(std::string message) {
  return {ErrorCode::kInvalidInput, std::move(message)};
}
inline Error not_found(std::string message) {
  return {ErrorCode::kNotFound, std::move(message)};
}
inline Error conflict(std::string message) {
  return {ErrorCode::kConflict, std::move(message)};
}

// An I/O error whose message ends in the text of `error_number`. Descriptors and disk used up
// become kExhausted.
Error io_error(std::string what, int error_number);

// Either a value or an Error, with std::expected's names. Asking for the side that is not there is
// a bug.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : held_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool has_value() const { return held_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    TUTTI_CHECK(has_value());
    return std::get<0>(held_);
  }
  const T& value() const& {
    TUTTI_CHECK(has_value());
    return std::get<0>(held_);
  }
  T&& value() && {
    TUTTI_CHECK(has_value());
    return std::get<0>(std::move(held_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    TUTTI_CHECK(!has_value());
    return std::get<1>(held_);
  }

 private:
  std::variant<T, Error> held_;
};

// A Result without a value: it worked, or this Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : held_(std::move(error)), failed_(true) {}  // NOLINT: implicit by design

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    TUTTI_CHECK(failed_);
    return held_;
  }

 private:
  Error held_;
  bool failed_ = false;
};

}  // namespace tutti
