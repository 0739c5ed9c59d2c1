// Integer products of AVX2: pairs of inputs, widened to 16 bits so that nothing saturates. Included
// inside the instruction set's namespace.

constexpr int kInt8Group = 2;
constexpr int kInt8Zero = 0;
constexpr int kInt8RectifiedZero = 0;
typedef int16_t Quantised;
struct Counts {  // sums of a block of 16 outputs
  __m256i low, high;
};
typedef Counts Int8Weights;
typedef __m256i Int8Inputs;

static inline __m256i load_integers(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
static inline Counts no_counts() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
static inline Counts add_counts(Counts a, Counts b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
static inline Counts load_counts(const int32_t* p) {
  return {load_integers(p), load_integers(p + 8)};
}
static inline void store_counts(int32_t* p, Counts c) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), c.low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), c.high);
}
static inline Int8Weights int8_weights(const unsigned char* p) {
  const __m128i* from = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(from)),
          _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1))};
}
static inline Int8Inputs int8_inputs(const Quantised* x) {
  int32_t pair;
  __builtin_memcpy(&pair, x, sizeof pair);
  return _mm256_set1_epi32(pair);
}
static inline Counts count(Counts c, Int8Weights w, Int8Inputs x) {
  return {_mm256_add_epi32(c.low, _mm256_madd_epi16(w.low, x)),
          _mm256_add_epi32(c.high, _mm256_madd_epi16(w.high, x))};
}
static inline Vec counts_vec(Counts c, int part) {
  return _mm256_cvtepi32_ps(part == 0 ? c.low : c.high);
}
static inline void store_quantised(Quantised* to, Vec v, int) {
  const __m256i q = _mm256_cvtps_epi32(v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
}
static inline int quantised_value(const Quantised* from, int) { return *from; }
