// The four element types of a Tensor.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "engine/check.h"
#include "engine/host_device.h"

namespace sink {

enum class DType : std::uint8_t { F32, BF16, F64, I32 };

// The upper half of an IEEE float: 8 exponent bits, 7 fraction bits. Rounds to nearest, ties to even.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  SINK_HD explicit bf16(float x) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    std::uint32_t quiet_nan = (u >> 16) | 0x40u;  // rounding could turn a NaN's payload into infinity
    bits = static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
  }
  SINK_HD operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

// to = value, rounded once to the type. For bf16 it writes the bits alone: assigning the struct would keep compilers
// from making vector code of the loop around.
template <class To, class From>
SINK_HD inline void store(To& to, From value) {
  to = static_cast<To>(value);
}
SINK_HD inline void store(bf16& to, float value) { to.bits = bf16(value).bits; }
// By way of a float that is rounded to odd: toward zero, its last bit set if anything was lost. So rounding that again
// gives what rounding the double at once would (Boldo and Melquiond 2005).
SINK_HD inline void store(bf16& to, double value) {
  float nearest = static_cast<float>(value);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  double back = static_cast<double>(nearest);
  if (back != value && value == value) {
    bool away = value > 0 ? back > value : back < value;
    bits = (bits - (away ? 1u : 0u)) | 1u;
  }
  to.bits = bf16(std::bit_cast<float>(bits)).bits;
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::F32> {};
template <>
struct DTypeOf<bf16> : std::integral_constant<DType, DType::BF16> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::F64> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<DType, DType::I32> {};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// By DType.
inline constexpr std::size_t kDTypeSizes[] = {4, 2, 8, 4};
inline constexpr const char* kDTypeNames[] = {"f32", "bf16", "f64", "i32"};
constexpr std::size_t size_of(DType dtype) { return kDTypeSizes[static_cast<int>(dtype)]; }
constexpr const char* name_of(DType dtype) { return kDTypeNames[static_cast<int>(dtype)]; }

// The type of a name that name_of gives.
inline DType dtype_named(const std::string& name) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64, DType::I32})
    if (name == name_of(dtype)) return dtype;
  fail("dtype", "expected f32, bf16, f64 or i32, got " + name, Exit::usage);
}

// Calls f with a zero of the element type, one of those listed:
//   with_real<float, bf16>(x.dtype(), [&](auto zero) { using X = decltype(zero); ... })
template <class First, class... Rest, class F>
decltype(auto) with_real(DType dtype, F&& f) {
  if constexpr (sizeof...(Rest) > 0) {
    if (dtype != dtype_of<First>) return with_real<Rest...>(dtype, f);
  } else {
    SINK_CHECK(dtype == dtype_of<First>, "dtype",
               std::string("expected real elements, of a type that the operation has; got ") + name_of(dtype));
  }
  return f(First{});
}
// Any real type.
template <class F>
decltype(auto) with_real(DType dtype, F&& f) {
  return with_real<float, bf16, double>(dtype, f);
}

}  // namespace sink
