// Integer products of AVX-512 VNNI: four inputs at a time, unsigned inputs with signed weights, no
// saturation. Included inside the instruction set's namespace.

constexpr int kInt8Group = 4;
constexpr int kInt8Zero = 128;  // makes signed inputs unsigned; the matrix's offset undoes it
constexpr int kInt8RectifiedZero = 0;
typedef uint8_t Quantised;

static inline Int8Weights int8_weights(const unsigned char* p) { return _mm512_loadu_si512(p); }
static inline Int8Inputs int8_inputs(const Quantised* x) {
  int32_t group;
  __builtin_memcpy(&group, x, sizeof group);
  return _mm512_set1_epi32(group);
}
// Not the intrinsic: gcc 12 copies its sum twice for each product.
static inline Counts count(Counts c, Int8Weights w, Int8Inputs x) {
  asm("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(x), "vm"(w));
  return c;
}
// Stores whole numbers from -128 to 255 that `zero` brings into range.
static inline void store_quantised(Quantised* to, Vec v, int zero) {
  const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(zero));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(q));
}
static inline int quantised_value(const Quantised* from, int zero) {
  return static_cast<int>(*from) - zero;
}
