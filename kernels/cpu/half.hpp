// 16-bit floating-point numbers: IEEE half precision and bfloat16.
#pragma once

#include <cstdint>
#include <cstring>

namespace dv {

// Half-precision bits of a float that half precision holds exactly; false for any other.
inline bool to_half_exactly(float value, uint16_t* half) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u, mantissa = bits & 0x7fffffu;
  const int exponent = static_cast<int>(bits >> 23 & 0xffu) - 127;
  if ((bits & 0x7fffffffu) == 0) {
    *half = static_cast<uint16_t>(sign);
    return true;
  }
  if (exponent > 15 || exponent < -24) return false;
  if (exponent >= -14) {
    if (mantissa & 0x1fffu) return false;
    *half =
        static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent + 15) << 10 | mantissa >> 13);
    return true;
  }
  const int shift = -exponent - 1;  // of the full mantissa, so that its unit is 2^-24
  const uint32_t full = mantissa | 0x800000u;
  if (full & ((1u << shift) - 1u)) return false;
  *half = static_cast<uint16_t>(sign | full >> shift);
  return true;
}

// The nearest bfloat16, ties to even; a NaN stays one.
inline uint16_t to_bfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace dv
