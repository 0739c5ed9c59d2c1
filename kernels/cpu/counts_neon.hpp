// Sums of integer products in NEON registers, and signed inputs of a byte. Included inside the
// instruction set's namespace, before the products.

constexpr int kInt8Zero = 0;
constexpr int kInt8RectifiedZero = -128;  // makes inputs up to 255 signed; the offset undoes it
typedef int8_t Quantised;
struct Counts {  // sums of a block of 16 outputs
  int32x4_t v[4];
};

static inline Counts no_counts() {
  const int32x4_t zero = vdupq_n_s32(0);
  return {{zero, zero, zero, zero}};
}
static inline Counts add_counts(const Counts& a, const Counts& b) {
  Counts c;
  for (int i = 0; i < 4; ++i) c.v[i] = vaddq_s32(a.v[i], b.v[i]);
  return c;
}
static inline Counts load_counts(const int32_t* p) {
  return {{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}};
}
static inline void store_counts(int32_t* p, const Counts& c) {
  for (int i = 0; i < 4; ++i) vst1q_s32(p + 4 * i, c.v[i]);
}
static inline Vec counts_vec(const Counts& c, int part) { return vcvtq_f32_s32(c.v[part]); }
// Stores whole numbers from -127 to 255 that `zero` brings into range.
static inline void store_quantised(Quantised* to, Vec v, int zero) {
  const int16x4_t half = vmovn_s32(vaddq_s32(vcvtnq_s32_f32(v), vdupq_n_s32(zero)));
  const int8x8_t bytes = vmovn_s16(vcombine_s16(half, half));
  const int32_t word = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
  __builtin_memcpy(to, &word, sizeof word);
}
static inline int quantised_value(const Quantised* from, int zero) {
  return static_cast<int>(*from) - zero;
}
