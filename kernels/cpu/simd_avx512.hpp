// Sixteen lanes of AVX-512 F, BW and VL. Included inside the instruction set's namespace.

constexpr int kLanes = 16;
constexpr int kRegisters = 32;
constexpr bool kHalfWeights = true;

typedef __m512 Vec;

static inline __mmask16 lane_mask(int count) {
  return count >= kLanes ? static_cast<__mmask16>(0xffff)
                         : static_cast<__mmask16>((1u << count) - 1u);
}
static inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
static inline Vec load_partial(const float* p, int count) {
  return _mm512_maskz_loadu_ps(lane_mask(count), p);
}
static inline Vec broadcast(float x) { return _mm512_set1_ps(x); }
static inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
static inline Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
static inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
static inline Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
static inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
static inline Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
static inline Vec round(Vec a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline Vec power_of_two(Vec a) {
  const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}
// p 2^n of a whole number n from -126 to 127.
static inline Vec scale_by_power(Vec p, Vec n) { return _mm512_scalef_ps(p, n); }
static inline void store(float* p, Vec a) { _mm512_storeu_ps(p, a); }
static inline void store_partial(float* p, Vec a, int count) {
  _mm512_mask_storeu_ps(p, lane_mask(count), a);
}
static inline float reduce_add(Vec a) {
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1));
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), high);
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float reduce_max(Vec a) { return _mm512_reduce_max_ps(a); }
static inline Vec load_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
// Two bfloat16 numbers in each 32-bit word.
static inline Vec load_bfloat_low(const void* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
}
static inline Vec load_bfloat_high(const void* p) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}
static inline void store_bfloat(uint16_t* p, Vec a) {
  const __m512i bits = _mm512_castps_si512(a);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16)));
}
// Running sums of 16 values: sums of 1, 2, 4 and 8 neighbours are added in turn.
static inline Vec running_sums(Vec sum) {
  const __m512i zero = _mm512_setzero_si512();
#define DV_SHIFTED(lanes) \
  _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(sum), zero, 16 - lanes))
  sum = add(sum, DV_SHIFTED(1));
  sum = add(sum, DV_SHIFTED(2));
  sum = add(sum, DV_SHIFTED(4));
  return add(sum, DV_SHIFTED(8));
#undef DV_SHIFTED
}
static inline void running_sums_of(const float* values, float* sums) {
  store(sums, running_sums(load(values)));
}
// First of 16 values above the target, 16 if none is.
static inline int first_above(const float* values, float target) {
  const unsigned above = _mm512_cmp_ps_mask(load(values), broadcast(target), _CMP_GT_OQ);
  return __builtin_ctz(above | 0x10000u);
}
// The sum of each of 16 blocks of 16 values, each added up as reduce_add does it: lanes 8 apart,
// then 4, 2 and 1.
static inline void sums_of_blocks(const Vec* block, float* sums) {
  Vec a[8], b[4], c[2];
  for (int i = 0; i < 8; ++i)  // [sums of block i | of block i + 8], 8 lanes each
    a[i] = add(_mm512_shuffle_f32x4(block[i], block[i + 8], 0x44),
               _mm512_shuffle_f32x4(block[i], block[i + 8], 0xee));
  for (int i = 0; i < 4; ++i)  // blocks i, i + 4, i + 8, i + 12, 4 lanes each
    b[i] =
        add(_mm512_shuffle_f32x4(a[i], a[i + 4], 0x88), _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd));
  for (int i = 0; i < 2; ++i)  // in each quarter: block i twice, block i + 2 twice
    c[i] = add(_mm512_shuffle_ps(b[i], b[i + 2], 0x44), _mm512_shuffle_ps(b[i], b[i + 2], 0xee));
  const Vec d = add(_mm512_shuffle_ps(c[0], c[1], 0x88), _mm512_shuffle_ps(c[0], c[1], 0xdd));
  const __m512i order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
  store(sums, _mm512_permutexvar_ps(order, d));
}
// x = m 2^e with m from sqrt(1/2) to sqrt(2); returns e.
static inline Vec split_exponent(Vec x, Vec* m) {
  const __m512i middle = _mm512_set1_epi32(0x3f3504f3);  // sqrt(1/2)
  const __m512i shifted = _mm512_sub_epi32(_mm512_castps_si512(x), middle);
  const __m512i mantissa = _mm512_and_si512(shifted, _mm512_set1_epi32(0x007fffff));
  *m = _mm512_castsi512_ps(_mm512_add_epi32(mantissa, middle));
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(shifted, 23));
}
// Magnitudes of y, which are positive, with the signs of x.
static inline Vec copy_sign(Vec y, Vec x) {
  const __m512i sign = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN));
  return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(y), sign));
}
static inline float first_lane(Vec a) { return _mm512_cvtss_f32(a); }
