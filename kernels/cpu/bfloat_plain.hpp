// Products of bfloat16 pairs with ordinary float arithmetic. A product of two such numbers is exact
// in float, so adding the second of a pair and then the first rounds as the instruction does.
// Included inside the instruction set's namespace.

struct BfloatWeights {
  Vec low[kBlock / kLanes], high[kBlock / kLanes];
};
struct BfloatInputs {
  Vec low, high;
};

static inline BfloatWeights bfloat_weights(const unsigned char* p) {
  BfloatWeights w;
  for (int v = 0; v < kBlock / kLanes; ++v) {
    w.low[v] = load_bfloat_low(p + v * kLanes * 4);
    w.high[v] = load_bfloat_high(p + v * kLanes * 4);
  }
  return w;
}
static inline BfloatInputs bfloat_inputs(const uint16_t* x) {
  const uint32_t words[2] = {static_cast<uint32_t>(x[0]) << 16, static_cast<uint32_t>(x[1]) << 16};
  float values[2];
  __builtin_memcpy(values, words, sizeof values);
  return {broadcast(values[0]), broadcast(values[1])};
}
static inline void bfloat_multiply(Vec* sum, const BfloatWeights& w, const BfloatInputs& x) {
  for (int v = 0; v < kBlock / kLanes; ++v)
    sum[v] = fma(w.low[v], x.low, fma(w.high[v], x.high, sum[v]));
}
