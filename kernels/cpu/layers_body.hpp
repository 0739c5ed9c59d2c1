// The layers of the front-end networks. Included inside the instruction set's namespace, after
// math_body.hpp and matrix_body.hpp.

// Inner products of kRows rows of x with kOutputs rows of the weight.
template <int kRows, int kOutputs>
static inline void inner_products(const float* x, const float* weight, int64_t inputs,
                                  const float* bias, float* y, int64_t y_stride) {
  Vec sum[kRows][kOutputs];
  for (int r = 0; r < kRows; ++r)
    for (int o = 0; o < kOutputs; ++o) sum[r][o] = broadcast(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= inputs; i += kLanes) {
    Vec w[kOutputs];
    for (int o = 0; o < kOutputs; ++o) w[o] = load(weight + o * inputs + i);
    for (int r = 0; r < kRows; ++r) {
      const Vec v = load(x + r * inputs + i);
      for (int o = 0; o < kOutputs; ++o) sum[r][o] = fma(v, w[o], sum[r][o]);
    }
  }
  if (i < inputs) {
    const int part = static_cast<int>(inputs - i);
    Vec w[kOutputs];
    for (int o = 0; o < kOutputs; ++o) w[o] = load_partial(weight + o * inputs + i, part);
    for (int r = 0; r < kRows; ++r) {
      const Vec v = load_partial(x + r * inputs + i, part);
      for (int o = 0; o < kOutputs; ++o) sum[r][o] = fma(v, w[o], sum[r][o]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int o = 0; o < kOutputs; ++o)
      y[r * y_stride + o] = reduce_add(sum[r][o]) + (bias ? bias[o] : 0.0f);
}

constexpr int kDenseRows = kRegisters == 32 ? 4 : 2;  // as many as there are registers for

static void activate(float* y, int64_t count, int activation) {
  if (activation == kNone) return;
  for (int64_t i = 0; i < count; i += kLanes) {
    const int part = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    const Vec v = load_partial(y + i, part);
    const Vec r = activation == kRelu   ? max(v, broadcast(0.0f))
                  : activation == kTanh ? tanh_of(v)
                                        : sigmoid_of(v);
    store_partial(y + i, r, part);
  }
}

template <int kRows>
static inline void dense_rows(const float* x, int64_t inputs, const float* weight,
                              const float* bias, int64_t outputs, float* y) {
  constexpr int kOutputs = kRows == 1 ? 8 : 4;
  int64_t o = 0;
  for (; o + kOutputs <= outputs; o += kOutputs)
    inner_products<kRows, kOutputs>(x, weight + o * inputs, inputs, bias ? bias + o : nullptr,
                                    y + o, outputs);
  for (; o < outputs; ++o)
    inner_products<kRows, 1>(x, weight + o * inputs, inputs, bias ? bias + o : nullptr, y + o,
                             outputs);
}

static void dense(const float* x, int64_t rows, int64_t inputs, const float* weight,
                  const float* bias, int64_t outputs, int activation, float* y) {
  int64_t r = 0;
  for (; r + kDenseRows <= rows; r += kDenseRows)
    dense_rows<kDenseRows>(x + r * inputs, inputs, weight, bias, outputs, y + r * outputs);
  // The rest at once, too: a weight that is larger than the cache is read as often as it is used.
  const float* rest = x + r * inputs;
  if (rows - r == 3) dense_rows<3>(rest, inputs, weight, bias, outputs, y + r * outputs);
  if (rows - r == 2) dense_rows<2>(rest, inputs, weight, bias, outputs, y + r * outputs);
  if (rows - r == 1) dense_rows<1>(rest, inputs, weight, bias, outputs, y + r * outputs);
  activate(y, rows * outputs, activation);
}

// How the weights of a layer and its inputs meet: `Weight` holds one vector of outputs for one
// group of inputs, `Input` one group of inputs for all of them.
struct FloatLayer {
  typedef float Stored;
  typedef float Given;
  static constexpr int kGroup = 1;
  typedef Vec Weight;
  typedef Vec Input;
  static inline Weight weight(const Stored* p) { return load(p); }
  static inline Input input(const Given* p) { return broadcast(*p); }
  static inline Vec step(Weight w, Input x, Vec sum) { return fma(w, x, sum); }
};

struct HalfLayer : FloatLayer {
  typedef uint16_t Stored;
  static inline Weight weight(const Stored* p) { return load_half(p); }
};

// Products of pairs, as the instruction set's bfloat file has them; a vector of outputs at a time.
#if defined(__AVX512BF16__)
constexpr bool kBfloatProducts = true;
struct BfloatLayer {
  typedef uint16_t Stored;
  typedef uint16_t Given;
  static constexpr int kGroup = 2;
  typedef BfloatWeights Weight;
  typedef BfloatInputs Input;
  static inline Weight weight(const Stored* p) {
    return bfloat_weights(reinterpret_cast<const unsigned char*>(p));
  }
  static inline Input input(const Given* p) { return bfloat_inputs(p); }
  static inline Vec step(Weight w, Input x, Vec sum) {
    bfloat_multiply(&sum, w, x);
    return sum;
  }
};
#else
constexpr bool kBfloatProducts = false;
struct BfloatLayer {
  typedef uint16_t Stored;
  typedef uint16_t Given;
  static constexpr int kGroup = 2;
  struct Pair {
    Vec low, high;
  };
  typedef Pair Weight;
  typedef BfloatInputs Input;
  static inline Weight weight(const Stored* p) {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(p);
    return {load_bfloat_low(bytes), load_bfloat_high(bytes)};
  }
  static inline Input input(const Given* p) { return bfloat_inputs(p); }
  static inline Vec step(Weight w, Input x, Vec sum) {
    return fma(w.low, x.low, fma(w.high, x.high, sum));
  }
};
#endif

static inline Vec activated(Vec v, int activation) {
  return activation == kNone   ? v
         : activation == kRelu ? max(v, broadcast(0.0f))
         : activation == kTanh ? tanh_of(v)
                               : sigmoid_of(v);
}

// kRows rows of kVectors vectors of outputs from `first` on; every output is one chain of
// multiply-adds over taps and inputs, whatever is computed beside it.
template <class L, int kRows, int kVectors>
static inline void layer_tile(const Layer& layer, const LayerCall& call, int64_t row, int first) {
  const int panel = first / kLayerPanel * kLayerPanel, all = padded(layer.outputs);
  const ptrdiff_t step = (all - panel < kLayerPanel ? all - panel : kLayerPanel) * L::kGroup;
  const int groups = (layer.inputs + L::kGroup - 1) / L::kGroup;
  const typename L::Stored* w = static_cast<const typename L::Stored*>(layer.data) +
                                static_cast<ptrdiff_t>(panel) * layer.taps * groups * L::kGroup +
                                (first - panel) * L::kGroup;
  const typename L::Given* x = static_cast<const typename L::Given*>(call.x) + row * call.x_stride;
  Vec sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = load(layer.bias + first + v * kLanes);
  for (int k = 0; k < layer.taps; ++k, x += call.tap_stride) {
    for (int g = 0; g < groups; ++g, w += step) {
      typename L::Weight weight[kVectors];
      for (int v = 0; v < kVectors; ++v) weight[v] = L::weight(w + v * kLanes * L::kGroup);
      for (int r = 0; r < kRows; ++r) {
        const typename L::Input input = L::input(x + r * call.x_stride + g * L::kGroup);
        for (int v = 0; v < kVectors; ++v) sum[r][v] = L::step(weight[v], input, sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const int64_t at = (row + r) * layer.outputs + first;
    for (int v = 0; v < kVectors; ++v) {
      const int left = layer.outputs - first - v * kLanes;
      if (left <= 0) break;
      const int part = left < kLanes ? left : kLanes;
      Vec y = activated(sum[r][v], call.activation);
      if (call.add) y = add(y, load_partial(call.add + at + v * kLanes, part));
      store_partial(call.y + at + v * kLanes, y, part);
    }
  }
}

// As many rows and vectors as there are registers for their sums.
constexpr int kLayerRows = kRegisters >= 16 ? 6 : 2;
constexpr int kLayerVectors = kLanes == 16 ? 4 : kBlock / kLanes;

template <class L, int kVectors>
static inline void layer_columns(const Layer& layer, const LayerCall& call, int first) {
  int64_t row = 0;
  for (; row + kLayerRows <= call.rows; row += kLayerRows)
    layer_tile<L, kLayerRows, kVectors>(layer, call, row, first);
  for (; row + 2 <= call.rows; row += 2) layer_tile<L, 2, kVectors>(layer, call, row, first);
  for (; row < call.rows; ++row) layer_tile<L, 1, kVectors>(layer, call, row, first);
}

template <class L>
static inline void affine_typed(const Layer& layer, const LayerCall& call) {
  constexpr int kTile = kLayerVectors * kLanes;
  const int all = padded(layer.outputs);
  int first = 0;
  for (; first + kTile <= all; first += kTile) layer_columns<L, kLayerVectors>(layer, call, first);
  for (; first < all; first += kBlock) layer_columns<L, kBlock / kLanes>(layer, call, first);
}

static void affine(const Layer& layer, const LayerCall& call) {
  if (layer.storage == kLayerBfloat) {
    affine_typed<BfloatLayer>(layer, call);
  } else if (layer.storage == kLayerHalf) {
    if constexpr (kHalfWeights) affine_typed<HalfLayer>(layer, call);
  } else {
    affine_typed<FloatLayer>(layer, call);
  }
}

// The nearest bfloat16, ties to even; a NaN stays one.
static inline uint16_t bfloat_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const uint32_t nan = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

static void encode(const float* x, int64_t count, int storage, void* out) {
  if (storage == kLayerBfloat) {
    uint16_t* const to = static_cast<uint16_t*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = bfloat_bits(x[i]);
  } else {
    __builtin_memcpy(out, x, static_cast<size_t>(count) * sizeof(float));
  }
}

constexpr float kNormEpsilon = 1e-5f;  // as torch.nn.LayerNorm's
constexpr int64_t kNormPart = 64;      // values that are normalised before they are encoded

static void layer_norm(const float* x, const float* weight, const float* bias, int64_t rows,
                       int64_t channels, int storage, void* out, int64_t out_stride) {
  const int64_t size = storage == kLayerBfloat ? 2 : 4;
  for (int64_t t = 0; t < rows; ++t, x += channels) {
    unsigned char* const to = static_cast<unsigned char*>(out) + t * out_stride * size;
    Vec sum = broadcast(0.0f), squares = broadcast(0.0f);
    for (int64_t i = 0; i < channels; i += kLanes)
      sum = add(sum, load_partial(x + i,
                                  static_cast<int>(channels - i < kLanes ? channels - i : kLanes)));
    const float mean = reduce_add(sum) / static_cast<float>(channels);
    for (int64_t i = 0; i < channels; i += kLanes) {
      const int part = channels - i < kLanes ? static_cast<int>(channels - i) : kLanes;
      Vec d = sub(load_partial(x + i, part), broadcast(mean));
      if (part < kLanes) {  // what lies beyond the row does not count
        float centred[kLanes];
        store(centred, d);
        d = load_partial(centred, part);
      }
      squares = fma(d, d, squares);
    }
    const float variance = reduce_add(squares) / static_cast<float>(channels);
    const Vec scale = broadcast(1.0f / __builtin_sqrtf(variance + kNormEpsilon));
    for (int64_t first = 0; first < channels; first += kNormPart) {
      const int64_t count = channels - first < kNormPart ? channels - first : kNormPart;
      float normed[kNormPart];
      for (int64_t i = 0; i < count; i += kLanes) {
        const int part = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
        const int64_t at = first + i;
        const Vec d = mul(sub(load_partial(x + at, part), broadcast(mean)), scale);
        store_partial(normed + i,
                      fma(d, load_partial(weight + at, part), load_partial(bias + at, part)), part);
      }
      encode(normed, count, storage, to + first * size);
    }
  }
}

static void gru_gates(const float* input, const float* recurrent, int64_t hidden, float* h,
                      float* y) {
  const Vec one = broadcast(1.0f);
  for (int64_t i = 0; i < hidden; i += kLanes) {
    const int part = hidden - i < kLanes ? static_cast<int>(hidden - i) : kLanes;
    const Vec r = sigmoid_of(add(load_partial(input + i, part), load_partial(recurrent + i, part)));
    const Vec z = sigmoid_of(
        add(load_partial(input + hidden + i, part), load_partial(recurrent + hidden + i, part)));
    const Vec n = tanh_of(fma(r, load_partial(recurrent + 2 * hidden + i, part),
                              load_partial(input + 2 * hidden + i, part)));
    const Vec next = fma(z, load_partial(h + i, part), mul(sub(one, z), n));
    store_partial(h + i, next, part);
    store_partial(y + i, next, part);
  }
}

static void qrnn_pool(const float* candidate, const float* forget, const float* output,
                      int64_t rows, int64_t hidden, float* cell, float* y) {
  const Vec one = broadcast(1.0f);
  for (int64_t t = 0; t < rows; ++t) {
    const int64_t row = t * hidden;
    for (int64_t i = 0; i < hidden; i += kLanes) {
      const int part = hidden - i < kLanes ? static_cast<int>(hidden - i) : kLanes;
      const Vec f = load_partial(forget + row + i, part);
      const Vec c = fma(f, load_partial(cell + i, part),
                        mul(sub(one, f), load_partial(candidate + row + i, part)));
      store_partial(cell + i, c, part);
      store_partial(y + row + i, mul(load_partial(output + row + i, part), c), part);
    }
  }
}
