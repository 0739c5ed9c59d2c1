// Eight lanes of AVX2 with fused multiply-add. Included inside the instruction set's namespace.

constexpr int kLanes = 8;
constexpr int kRegisters = 16;
constexpr bool kHalfWeights = true;

typedef __m256 Vec;

static inline __m256i lane_mask(int count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes);
}
static inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
static inline Vec load_partial(const float* p, int count) {
  return _mm256_maskload_ps(p, lane_mask(count));
}
static inline Vec broadcast(float x) { return _mm256_set1_ps(x); }
static inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
static inline Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
static inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
static inline Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
static inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
static inline Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
static inline Vec round(Vec a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline Vec power_of_two(Vec a) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
// p 2^n of a whole number n from -126 to 127.
static inline Vec scale_by_power(Vec p, Vec n) { return mul(p, power_of_two(n)); }
static inline void store(float* p, Vec a) { _mm256_storeu_ps(p, a); }
static inline void store_partial(float* p, Vec a, int count) {
  _mm256_maskstore_ps(p, lane_mask(count), a);
}
static inline float reduce_add(Vec a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float reduce_max(Vec a) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
static inline Vec load_half(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
// Two bfloat16 numbers in each 32-bit word.
static inline Vec load_bfloat_low(const void* p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)), 16));
}
static inline Vec load_bfloat_high(const void* p) {
  return _mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256(static_cast<const __m256i*>(p)),
                                              _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}
static inline void store_bfloat(uint16_t* p, Vec a) {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i top = _mm256_srli_epi32(sum, 16);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1)));
}
#include "sums_plain.hpp"
// x = m 2^e with m from sqrt(1/2) to sqrt(2); returns e.
static inline Vec split_exponent(Vec x, Vec* m) {
  const __m256i middle = _mm256_set1_epi32(0x3f3504f3);  // sqrt(1/2)
  const __m256i shifted = _mm256_sub_epi32(_mm256_castps_si256(x), middle);
  const __m256i mantissa = _mm256_and_si256(shifted, _mm256_set1_epi32(0x007fffff));
  *m = _mm256_castsi256_ps(_mm256_add_epi32(mantissa, middle));
  return _mm256_cvtepi32_ps(_mm256_srai_epi32(shifted, 23));
}
// Magnitudes of y, which are positive, with the signs of x.
static inline Vec copy_sign(Vec y, Vec x) {
  return _mm256_or_ps(y, _mm256_and_ps(x, _mm256_set1_ps(-0.0f)));
}
static inline float first_lane(Vec a) { return _mm256_cvtss_f32(a); }
