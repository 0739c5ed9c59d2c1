// Products with packed matrices (model.hpp) and with plain row-major ones. Included inside the
// instruction set's namespace, after its simd file. The order of summation of an output depends on
// the matrix alone, never on how many columns or rows are computed together.

static inline Vec weights_at(const float* p) { return load(p); }
static inline Vec weights_at(const uint16_t* p) { return load_half(p); }

// Outputs of kVectors vectors of one panel for one column; kSplit interleaved chains hide the
// latency of the multiply-adds.
template <int kVectors, int kSplit, class W>
static inline void panel_vector(const W* w, int stride, const float* x, int inputs,
                                const float* start, float* y) {
  Vec sum[kSplit][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sum[0][v] = load(start + v * kLanes);
    for (int s = 1; s < kSplit; ++s) sum[s][v] = broadcast(0.0f);
  }
  int i = 0;
  for (; i + kSplit <= inputs; i += kSplit) {
    for (int s = 0; s < kSplit; ++s) {
      const Vec input = broadcast(x[i + s]);
      for (int v = 0; v < kVectors; ++v)
        sum[s][v] = fma(weights_at(w + static_cast<ptrdiff_t>(i + s) * stride + v * kLanes), input,
                        sum[s][v]);
    }
  }
  for (; i < inputs; ++i) {
    const Vec input = broadcast(x[i]);
    for (int v = 0; v < kVectors; ++v)
      sum[0][v] =
          fma(weights_at(w + static_cast<ptrdiff_t>(i) * stride + v * kLanes), input, sum[0][v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int s = 1; s < kSplit; ++s) sum[0][v] = add(sum[0][v], sum[s][v]);
    store(y + v * kLanes, sum[0][v]);
  }
}

// The same for kColumns columns in one pass over the weights; one chain an output.
template <int kVectors, int kColumns, class W>
static inline void panel_columns(const W* w, int stride, const float* const* x, int inputs,
                                 const float* start, float* y, ptrdiff_t y_stride) {
  Vec sum[kColumns][kVectors];
  for (int c = 0; c < kColumns; ++c)
    for (int v = 0; v < kVectors; ++v) sum[c][v] = load(start + v * kLanes);
  for (int i = 0; i < inputs; ++i) {
    Vec weight[kVectors];
    for (int v = 0; v < kVectors; ++v)
      weight[v] = weights_at(w + static_cast<ptrdiff_t>(i) * stride + v * kLanes);
    for (int c = 0; c < kColumns; ++c) {
      const Vec input = broadcast(x[c][i]);
      for (int v = 0; v < kVectors; ++v) sum[c][v] = fma(weight[v], input, sum[c][v]);
    }
  }
  for (int c = 0; c < kColumns; ++c)
    for (int v = 0; v < kVectors; ++v) store(y + c * y_stride + v * kLanes, sum[c][v]);
}

// Vectors of a 16-output block, and of the largest group whose sums stay in registers.
constexpr int kBlockVectors = kBlock / kLanes;

template <class W>
static inline void matrix_vector_typed(const Matrix& m, const float* x, const float* start,
                                       float* y) {
  const W* w = static_cast<const W*>(m.data);
  for (int first = 0; first < m.outputs; first += kPanel) {
    const int width = m.outputs - first < kPanel ? m.outputs - first : kPanel;
    const W* panel = w + static_cast<ptrdiff_t>(first) * m.inputs;
    if constexpr (kBlockVectors <= 2) {
      if (width == kPanel) {
        panel_vector<4 * kBlockVectors, 2 / kBlockVectors>(panel, width, x, m.inputs, start + first,
                                                           y + first);
        continue;
      }
    }
    for (int b = 0; b < width; b += kBlock)
      panel_vector<kBlockVectors, 4 / kBlockVectors>(panel + b, width, x, m.inputs,
                                                     start + first + b, y + first + b);
  }
}

// y [m.outputs] = start [m.outputs] + W x [m.inputs]; start may be y, x must not overlap y.
static inline void matrix_vector(const Matrix& m, const float* x, const float* start, float* y) {
  if (kHalfWeights && m.half) {
    matrix_vector_typed<uint16_t>(m, x, start, y);
  } else {
    matrix_vector_typed<float>(m, x, start, y);
  }
}

template <int kColumns, class W>
static inline void matrix_columns_typed(const Matrix& m, const float* const* x, const float* start,
                                        float* y, ptrdiff_t y_stride) {
  constexpr int kVectors = kBlockVectors == 1 ? 4 : kBlockVectors;  // of a full panel, in registers
  constexpr int kGroup = kVectors * kLanes;
  const W* w = static_cast<const W*>(m.data);
  for (int first = 0; first < m.outputs; first += kPanel) {
    const int width = m.outputs - first < kPanel ? m.outputs - first : kPanel;
    const W* panel = w + static_cast<ptrdiff_t>(first) * m.inputs;
    int b = 0;
    for (; b + kGroup <= width; b += kGroup)
      panel_columns<kVectors, kColumns>(panel + b, width, x, m.inputs, start + first + b,
                                        y + first + b, y_stride);
    for (; b < width; b += kBlock)
      panel_columns<kBlockVectors, kColumns>(panel + b, width, x, m.inputs, start + first + b,
                                             y + first + b, y_stride);
  }
}

// matrix_vector for `columns` (1 to kPastColumns) vectors x[c] with the same start; y [columns,
// m.outputs].
static inline void matrix_columns(const Matrix& m, const float* const* x, int columns,
                                  const float* start, float* y) {
  const ptrdiff_t y_stride = m.outputs;
  for (int c = 0; c < columns;) {
    const int left = columns - c;
    if (left >= 4) {
      if (kHalfWeights && m.half) {
        matrix_columns_typed<4, uint16_t>(m, x + c, start, y + c * y_stride, y_stride);
      } else {
        matrix_columns_typed<4, float>(m, x + c, start, y + c * y_stride, y_stride);
      }
      c += 4;
    } else if (left >= 2) {
      if (kHalfWeights && m.half) {
        matrix_columns_typed<2, uint16_t>(m, x + c, start, y + c * y_stride, y_stride);
      } else {
        matrix_columns_typed<2, float>(m, x + c, start, y + c * y_stride, y_stride);
      }
      c += 2;
    } else {
      if (kHalfWeights && m.half) {
        matrix_columns_typed<1, uint16_t>(m, x + c, start, y + c * y_stride, y_stride);
      } else {
        matrix_columns_typed<1, float>(m, x + c, start, y + c * y_stride, y_stride);
      }
      c += 1;
    }
  }
}

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

constexpr int kDenseRows = kLanes == 16 ? 4 : 2;  // as many as there are registers for
