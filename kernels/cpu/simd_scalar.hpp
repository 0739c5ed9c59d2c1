// Four lanes in plain C++, for any machine. Included inside the instruction set's namespace.

constexpr int kLanes = 4;
constexpr bool kHalfWeights = false;

struct Vec {
  float v[kLanes];
};

#define DV_EACH(expression)                             \
  Vec r;                                                \
  for (int i = 0; i < kLanes; ++i) r.v[i] = expression; \
  return r

static inline Vec load(const float* p) { DV_EACH(p[i]); }
static inline Vec load_partial(const float* p, int count) { DV_EACH(i < count ? p[i] : 0.0f); }
static inline Vec broadcast(float x) { DV_EACH(x); }
static inline Vec add(Vec a, Vec b) { DV_EACH(a.v[i] + b.v[i]); }
static inline Vec sub(Vec a, Vec b) { DV_EACH(a.v[i] - b.v[i]); }
static inline Vec mul(Vec a, Vec b) { DV_EACH(a.v[i] * b.v[i]); }
static inline Vec div(Vec a, Vec b) { DV_EACH(a.v[i] / b.v[i]); }
static inline Vec fma(Vec a, Vec b, Vec c) { DV_EACH(a.v[i] * b.v[i] + c.v[i]); }
static inline Vec max(Vec a, Vec b) { DV_EACH(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
static inline Vec min(Vec a, Vec b) { DV_EACH(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
// Nearest whole number of a value within +-2^22.
static inline Vec round(Vec a) { DV_EACH((a.v[i] + 12582912.0f) - 12582912.0f); }
// 2^a of a whole number from -126 to 127.
static inline Vec power_of_two(Vec a) {
  Vec r;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(a.v[i]) + 127) << 23;
    __builtin_memcpy(&r.v[i], &bits, sizeof bits);
  }
  return r;
}
static inline void store(float* p, Vec a) {
  for (int i = 0; i < kLanes; ++i) p[i] = a.v[i];
}
static inline void store_partial(float* p, Vec a, int count) {
  for (int i = 0; i < kLanes; ++i) {
    if (i < count) p[i] = a.v[i];
  }
}
static inline float reduce_add(Vec a) { return (a.v[0] + a.v[1]) + (a.v[2] + a.v[3]); }
static inline float reduce_max(Vec a) {
  float m = a.v[0];
  for (int i = 1; i < kLanes; ++i) m = a.v[i] > m ? a.v[i] : m;
  return m;
}
static inline Vec load_half(const uint16_t*) {
  return broadcast(0.0f);
}  // never called: see kHalfWeights

#undef DV_EACH
