// Sixteen lanes of AVX-512 F, BW and VL. Included inside the instruction set's namespace.

constexpr int kLanes = 16;
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
static inline void store(float* p, Vec a) { _mm512_storeu_ps(p, a); }
static inline void store_partial(float* p, Vec a, int count) {
  _mm512_mask_storeu_ps(p, lane_mask(count), a);
}
static inline float reduce_add(Vec a) { return _mm512_reduce_add_ps(a); }
static inline float reduce_max(Vec a) { return _mm512_reduce_max_ps(a); }
static inline Vec load_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
