// Products of bfloat16 pairs with AVX-512 BF16: sum + high * high, rounded, then + low * low,
// rounded. Included inside the instruction set's namespace.

typedef __m512i BfloatWeights;
typedef __m512i BfloatInputs;

static inline BfloatWeights bfloat_weights(const unsigned char* p) { return _mm512_loadu_si512(p); }
static inline BfloatInputs bfloat_inputs(const uint16_t* x) {
  int32_t pair;
  __builtin_memcpy(&pair, x, sizeof pair);
  return _mm512_set1_epi32(pair);
}
// Not the intrinsic: gcc 12 copies its sum twice for each product.
static inline void bfloat_multiply(Vec* sum, BfloatWeights w, BfloatInputs x) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum[0]) : "v"(x), "vm"(w));
}
