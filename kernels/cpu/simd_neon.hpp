// Four lanes of AArch64 Advanced SIMD. Included inside the instruction set's namespace.

constexpr int kLanes = 4;
constexpr int kRegisters = 32;
constexpr bool kHalfWeights = true;

typedef float32x4_t Vec;

static inline Vec load(const float* p) { return vld1q_f32(p); }
static inline Vec load_partial(const float* p, int count) {
  if (count >= kLanes) return vld1q_f32(p);
  float lanes[kLanes] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < count; ++i) lanes[i] = p[i];
  return vld1q_f32(lanes);
}
static inline Vec broadcast(float x) { return vdupq_n_f32(x); }
static inline Vec add(Vec a, Vec b) { return vaddq_f32(a, b); }
static inline Vec sub(Vec a, Vec b) { return vsubq_f32(a, b); }
static inline Vec mul(Vec a, Vec b) { return vmulq_f32(a, b); }
static inline Vec div(Vec a, Vec b) { return vdivq_f32(a, b); }
static inline Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
// The forms that pass over a NaN.
static inline Vec max(Vec a, Vec b) { return vmaxnmq_f32(a, b); }
static inline Vec min(Vec a, Vec b) { return vminnmq_f32(a, b); }
static inline Vec round(Vec a) { return vrndnq_f32(a); }
static inline Vec power_of_two(Vec a) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(a), vdupq_n_s32(127)), 23));
}
// p 2^n of a whole number n from -126 to 127.
static inline Vec scale_by_power(Vec p, Vec n) { return mul(p, power_of_two(n)); }
static inline void store(float* p, Vec a) { vst1q_f32(p, a); }
static inline void store_partial(float* p, Vec a, int count) {
  if (count >= kLanes) return vst1q_f32(p, a);
  float lanes[kLanes];
  vst1q_f32(lanes, a);
  for (int i = 0; i < count; ++i) p[i] = lanes[i];
}
static inline float reduce_add(Vec a) {  // lanes 2 apart first, as with longer vectors
  const float32x2_t s = vadd_f32(vget_low_f32(a), vget_high_f32(a));
  return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}
static inline float reduce_max(Vec a) { return vmaxnmvq_f32(a); }
static inline Vec load_half(const uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
// Two bfloat16 numbers in each 32-bit word.
static inline uint32x4_t load_words(const void* p) {
  return vreinterpretq_u32_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
}
static inline Vec load_bfloat_low(const void* p) {
  return vreinterpretq_f32_u32(vshlq_n_u32(load_words(p), 16));
}
static inline Vec load_bfloat_high(const void* p) {
  return vreinterpretq_f32_u32(vandq_u32(load_words(p), vdupq_n_u32(0xffff0000u)));
}
static inline void store_bfloat(uint16_t* p, Vec a) {
  const uint32x4_t bits = vreinterpretq_u32_f32(a);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t sum = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  vst1_u16(p, vshrn_n_u32(sum, 16));
}
#include "sums_plain.hpp"
// x = m 2^e with m from sqrt(1/2) to sqrt(2); returns e.
static inline Vec split_exponent(Vec x, Vec* m) {
  const int32x4_t middle = vdupq_n_s32(0x3f3504f3);  // sqrt(1/2)
  const int32x4_t shifted = vsubq_s32(vreinterpretq_s32_f32(x), middle);
  const int32x4_t mantissa = vandq_s32(shifted, vdupq_n_s32(0x007fffff));
  *m = vreinterpretq_f32_s32(vaddq_s32(mantissa, middle));
  return vcvtq_f32_s32(vshrq_n_s32(shifted, 23));
}
// Magnitudes of y, which are positive, with the signs of x.
static inline Vec copy_sign(Vec y, Vec x) { return vbslq_f32(vdupq_n_u32(0x80000000u), x, y); }
static inline float first_lane(Vec a) { return vgetq_lane_f32(a, 0); }
