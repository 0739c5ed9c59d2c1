// Integer products of NEON with the dot product: four inputs at a time into sums of 32 bits.
// Included inside the instruction set's namespace, after counts_neon.hpp.

constexpr int kInt8Group = 4;
struct Int8Weights {
  int8x16_t v[4];  // 4 outputs each
};
typedef int8x16_t Int8Inputs;

static inline Int8Weights int8_weights(const unsigned char* p) {
  const int8_t* const from = reinterpret_cast<const int8_t*>(p);
  return {{vld1q_s8(from), vld1q_s8(from + 16), vld1q_s8(from + 32), vld1q_s8(from + 48)}};
}
static inline Int8Inputs int8_inputs(const Quantised* x) {
  int32_t group;
  __builtin_memcpy(&group, x, sizeof group);
  return vreinterpretq_s8_s32(vdupq_n_s32(group));
}
static inline Counts count(Counts c, const Int8Weights& w, Int8Inputs x) {
  for (int i = 0; i < 4; ++i) c.v[i] = vdotq_s32(c.v[i], w.v[i], x);
  return c;
}
