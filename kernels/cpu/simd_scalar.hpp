// Four lanes in plain C++, for any machine. Included inside the instruction set's namespace.

constexpr int kLanes = 4;
constexpr int kRegisters = 8;
constexpr bool kHalfWeights = false;

struct Vec {
  float v[kLanes];
};

#define DV_EACH(expression)                             \
  Vec r;                                                \
  for (int i = 0; i < kLanes; ++i) r.v[i] = expression; \
  return r

static inline Vec load(const float* p) { DV_EACH(p[i]); }
static inline Vec load_partial(const float* p, int count) { DV_EACH(i < count ? p[i] : 0.0f); }
static inline Vec broadcast(float x) { DV_EACH(x); }
static inline Vec add(Vec a, Vec b) { DV_EACH(a.v[i] + b.v[i]); }
static inline Vec sub(Vec a, Vec b) { DV_EACH(a.v[i] - b.v[i]); }
static inline Vec mul(Vec a, Vec b) { DV_EACH(a.v[i] * b.v[i]); }
static inline Vec div(Vec a, Vec b) { DV_EACH(a.v[i] / b.v[i]); }
static inline Vec fma(Vec a, Vec b, Vec c) { DV_EACH(a.v[i] * b.v[i] + c.v[i]); }
static inline Vec max(Vec a, Vec b) { DV_EACH(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
static inline Vec min(Vec a, Vec b) { DV_EACH(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
// Nearest whole number of a value within +-2^22.
static inline Vec round(Vec a) { DV_EACH((a.v[i] + 12582912.0f) - 12582912.0f); }
// 2^a of a whole number from -126 to 127.
static inline Vec power_of_two(Vec a) {
  Vec r;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(a.v[i]) + 127) << 23;
    __builtin_memcpy(&r.v[i], &bits, sizeof bits);
  }
  return r;
}
// p 2^n of a whole number n from -126 to 127.
static inline Vec scale_by_power(Vec p, Vec n) { return mul(p, power_of_two(n)); }
static inline void store(float* p, Vec a) {
  for (int i = 0; i < kLanes; ++i) p[i] = a.v[i];
}
static inline void store_partial(float* p, Vec a, int count) {
  for (int i = 0; i < kLanes; ++i) {
    if (i < count) p[i] = a.v[i];
  }
}
static inline float reduce_add(Vec a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
static inline float reduce_max(Vec a) {
  float m = a.v[0];
  for (int i = 1; i < kLanes; ++i) m = a.v[i] > m ? a.v[i] : m;
  return m;
}
static inline Vec load_half(const uint16_t*) {
  return broadcast(0.0f);
}  // never called: see kHalfWeights
// Two bfloat16 numbers in each 32-bit word.
static inline float float_of_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
static inline Vec load_bfloat_low(const void* p) {
  uint32_t words[kLanes];
  __builtin_memcpy(words, p, sizeof words);
  DV_EACH(float_of_bits(words[i] << 16));
}
static inline Vec load_bfloat_high(const void* p) {
  uint32_t words[kLanes];
  __builtin_memcpy(words, p, sizeof words);
  DV_EACH(float_of_bits(words[i] & 0xffff0000u));
}
static inline void store_bfloat(uint16_t* p, Vec a) {
  for (int i = 0; i < kLanes; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, &a.v[i], sizeof bits);
    p[i] = static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
}
#include "sums_plain.hpp"
// x = m 2^e with m from sqrt(1/2) to sqrt(2); returns e.
static inline Vec split_exponent(Vec x, Vec* m) {
  Vec e;
  for (int i = 0; i < kLanes; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x.v[i], sizeof bits);
    const uint32_t shifted = bits - 0x3f3504f3u;  // sqrt(1/2)
    e.v[i] = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
    m->v[i] = float_of_bits((shifted & 0x007fffffu) + 0x3f3504f3u);
  }
  return e;
}
// Magnitudes of y, which are positive, with the signs of x.
static inline Vec copy_sign(Vec y, Vec x) { DV_EACH(__builtin_copysignf(y.v[i], x.v[i])); }
static inline float first_lane(Vec a) { return a.v[0]; }

#undef DV_EACH
