// Integer products of plain NEON: pairs of inputs, products of 16 bits added to sums of 32, so that
// nothing saturates. Included inside the instruction set's namespace, after counts_neon.hpp.

constexpr int kInt8Group = 2;
struct Int8Weights {
  int8x16_t v[2];  // 8 outputs each
};
typedef int8x16_t Int8Inputs;

static inline Int8Weights int8_weights(const unsigned char* p) {
  const int8_t* const from = reinterpret_cast<const int8_t*>(p);
  return {{vld1q_s8(from), vld1q_s8(from + 16)}};
}
static inline Int8Inputs int8_inputs(const Quantised* x) {
  int16_t pair;
  __builtin_memcpy(&pair, x, sizeof pair);
  return vreinterpretq_s8_s16(vdupq_n_s16(pair));
}
static inline Counts count(Counts c, const Int8Weights& w, Int8Inputs x) {
  for (int i = 0; i < 2; ++i) {
    c.v[2 * i] = vpadalq_s16(c.v[2 * i], vmull_s8(vget_low_s8(w.v[i]), vget_low_s8(x)));
    c.v[2 * i + 1] = vpadalq_s16(c.v[2 * i + 1], vmull_high_s8(w.v[i], x));
  }
  return c;
}
