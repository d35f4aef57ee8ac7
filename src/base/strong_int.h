#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tutti {

// An integer that is not interchangeable with other integers: ids and units. `Tag` only tells the
// types apart.
template <typename Tag, typename Rep>
struct StrongInt {
  using rep = Rep;
  Rep value = 0;

  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep v) : value(v) {}
  constexpr auto operator<=>(const StrongInt&) const = default;
};

// A StrongInt that counts something, so that sums and multiples make sense.
template <typename Tag>
struct Quantity : StrongInt<Tag, std::int64_t> {
  using StrongInt<Tag, std::int64_t>::StrongInt;
  constexpr Quantity operator+(Quantity o) const { return Quantity(this->value + o.value); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(this->value - o.value); }
  constexpr Quantity operator*(std::int64_t n) const { return Quantity(this->value * n); }
  constexpr Quantity& operator+=(Quantity o) {
    this->value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    this->value -= o.value;
    return *this;
  }
};

}  // namespace tutti

template <typename Tag, typename Rep>
struct std::hash<tutti::StrongInt<Tag, Rep>> {
  std::size_t operator()(const tutti::StrongInt<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>()(id.value);
  }
};
