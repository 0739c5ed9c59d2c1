// Integer products in plain C++. Included inside the instruction set's namespace.

constexpr int kInt8Group = 2;
constexpr int kInt8Zero = 0;
constexpr int kInt8RectifiedZero = 0;
typedef int16_t Quantised;
struct Counts {  // sums of a block of 16 outputs
  int32_t v[kBlock];
};
struct Int8Weights {
  int16_t v[2 * kBlock];
};
struct Int8Inputs {
  int16_t v[2];
};

static inline Counts no_counts() { return {}; }
static inline Counts add_counts(Counts a, Counts b) {
  Counts c;
  for (int i = 0; i < kBlock; ++i) c.v[i] = a.v[i] + b.v[i];
  return c;
}
static inline Counts load_counts(const int32_t* p) {
  Counts c;
  for (int i = 0; i < kBlock; ++i) c.v[i] = p[i];
  return c;
}
static inline void store_counts(int32_t* p, Counts c) {
  for (int i = 0; i < kBlock; ++i) p[i] = c.v[i];
}
static inline Int8Weights int8_weights(const unsigned char* p) {
  Int8Weights w;
  for (int i = 0; i < 2 * kBlock; ++i) w.v[i] = static_cast<int8_t>(p[i]);
  return w;
}
static inline Int8Inputs int8_inputs(const Quantised* x) { return {{x[0], x[1]}}; }
static inline Counts count(Counts c, const Int8Weights& w, Int8Inputs x) {
  for (int i = 0; i < kBlock; ++i)
    c.v[i] +=
        static_cast<int32_t>(w.v[2 * i]) * x.v[0] + static_cast<int32_t>(w.v[2 * i + 1]) * x.v[1];
  return c;
}
static inline Vec counts_vec(const Counts& c, int part) {
  Vec r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = static_cast<float>(c.v[part * kLanes + i]);
  return r;
}
static inline void store_quantised(Quantised* to, Vec v, int) {
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<int16_t>(round(v).v[i]);
}
static inline int quantised_value(const Quantised* from, int) { return *from; }
