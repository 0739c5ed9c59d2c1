// Integer products of AVX-512 BW: pairs of inputs, widened to 16 bits so that nothing saturates.
// Included inside the instruction set's namespace.

constexpr int kInt8Group = 2;
constexpr int kInt8Zero = 0;
constexpr int kInt8RectifiedZero = 0;
typedef int16_t Quantised;

static inline Int8Weights int8_weights(const unsigned char* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
static inline Int8Inputs int8_inputs(const Quantised* x) {
  int32_t pair;
  __builtin_memcpy(&pair, x, sizeof pair);
  return _mm512_set1_epi32(pair);
}
static inline Counts count(Counts c, Int8Weights w, Int8Inputs x) {
  return _mm512_add_epi32(c, _mm512_madd_epi16(w, x));
}
static inline void store_quantised(Quantised* to, Vec v, int) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(v)));
}
static inline int quantised_value(const Quantised* from, int) { return *from; }
