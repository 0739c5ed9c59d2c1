// Products with packed matrices (model.hpp). Included inside the instruction set's namespace, after
// its simd, int8 and bfloat files. The order of summation of an output is that of the inputs,
// however many columns or rows are computed together.

constexpr int kBlockVectors = kBlock / kLanes;

// Sums stay in registers only where every loop over them is unrolled, which compilers give up on.
#define DV_UNROLL _Pragma("GCC unroll 16")
#define DV_INLINE static inline __attribute__((always_inline))

struct Sums {  // of a block of 16 outputs
  Vec v[kBlockVectors];
};

// What a storage does with a block of 16 outputs. `partial` holds unfinished sums.

struct FloatSums {
  typedef Sums Sum;
  static constexpr bool kExact = false;  // whether sums are the same in any order
  static constexpr bool kEven = true;    // whether columns at a stride have tiles of their own
  DV_INLINE Sum begin(const int32_t*, int, const float* start) { return resume(start); }
  DV_INLINE Sum resume(const float* partial) {
    Sum s;
    for (int v = 0; v < kBlockVectors; ++v) s.v[v] = load(partial + v * kLanes);
    return s;
  }
  DV_INLINE void pause(const Sum& s, float* partial) {
    for (int v = 0; v < kBlockVectors; ++v) store(partial + v * kLanes, s.v[v]);
  }
  struct Scales {};
  DV_INLINE Scales scales(const float*, int) { return {}; }
  DV_INLINE void end(Scales, const float*, const Sum& s, float* y) { pause(s, y); }
};

struct FloatStorage : FloatSums {
  typedef float Input;
  typedef Sums Weights;
  typedef Vec Inputs;
  static constexpr int kGroup = 1, kBytes = 4 * kBlock;
  DV_INLINE Weights weights(const unsigned char* p) {
    return resume(reinterpret_cast<const float*>(p));
  }
  DV_INLINE Inputs inputs(const Input* x) { return broadcast(*x); }
  DV_INLINE void multiply(Sum* s, const Weights& w, Inputs x) {
    for (int v = 0; v < kBlockVectors; ++v) s->v[v] = fma(w.v[v], x, s->v[v]);
  }
};

struct HalfStorage : FloatStorage {
  static constexpr int kBytes = 2 * kBlock;
  DV_INLINE Weights weights(const unsigned char* p) {
    Weights w;
    for (int v = 0; v < kBlockVectors; ++v)
      w.v[v] = load_half(reinterpret_cast<const uint16_t*>(p) + v * kLanes);
    return w;
  }
};

struct BfloatStorage : FloatSums {
  typedef uint16_t Input;
  static constexpr int kGroup = 2, kBytes = 4 * kBlock;
  static constexpr bool kEven = sizeof(BfloatInputs) == sizeof(Vec);  // else few registers are left
  typedef BfloatWeights Weights;
  typedef BfloatInputs Inputs;
  DV_INLINE Weights weights(const unsigned char* p) { return bfloat_weights(p); }
  DV_INLINE Inputs inputs(const Input* x) { return bfloat_inputs(x); }
  DV_INLINE void multiply(Sum* s, const Weights& w, const Inputs& x) {
    bfloat_multiply(s->v, w, x);
  }
};

struct Int8Storage {
  typedef Quantised Input;
  typedef Counts Sum;
  typedef Int8Weights Weights;
  typedef Int8Inputs Inputs;
  static constexpr int kGroup = kInt8Group, kBytes = kInt8Group * kBlock;
  static constexpr bool kExact = true;
  static constexpr bool kEven = true;
  DV_INLINE Sum zero() { return no_counts(); }
  DV_INLINE Sum plus(const Sum& a, const Sum& b) { return add_counts(a, b); }
  DV_INLINE Sum begin(const int32_t* offset, int output, const float*) {
    return load_counts(offset + output);
  }
  DV_INLINE Sum resume(const float* partial) {
    return load_counts(reinterpret_cast<const int32_t*>(partial));
  }
  DV_INLINE void pause(const Sum& s, float* partial) {
    store_counts(reinterpret_cast<int32_t*>(partial), s);
  }
  typedef Sums Scales;
  DV_INLINE Scales scales(const float* scale, int output) {
    return FloatSums::resume(scale + output);
  }
  DV_INLINE void end(const Scales& scales, const float* start, const Sum& s, float* y) {
    for (int v = 0; v < kBlockVectors; ++v)
      store(y + v * kLanes, fma(counts_vec(s, v), scales.v[v], load(start + v * kLanes)));
  }
  DV_INLINE Weights weights(const unsigned char* p) { return int8_weights(p); }
  DV_INLINE Inputs inputs(const Input* x) { return int8_inputs(x); }
  DV_INLINE void multiply(Sum* s, const Weights& w, const Inputs& x) { *s = count(*s, w, x); }
};

enum Stage : int {
  kWhole,   // y = start + W x + V x2
  kFirst,   // partial = the sums of start + W x
  kSecond,  // y = the sums of partial + V x2; start as in kFirst
};

struct Operands {  // each an array with a pointer for each column
  const float* const* x;
  const float* const* x2;
  const float* const* start;
  float* const* partial;
  float* const* y;  // may be the same as start
  // Columns side by side: bytes from each to the next, and of their starts; 0 where they lie
  // anywhere.
  ptrdiff_t stride, start_stride;
};

template <class T>
DV_INLINE T* moved(T* p, ptrdiff_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<intptr_t>(p) + bytes);
}

// Adds the products of one group of inputs; input(c) is where that of a column begins.
template <class S, int kBlocks, int kColumns, class Input>
DV_INLINE void accumulate_group(const unsigned char* w, const Input& input,
                                typename S::Sum (&sum)[kColumns][kBlocks]) {
  typename S::Weights weights[kBlocks];
  DV_UNROLL
  for (int b = 0; b < kBlocks; ++b) weights[b] = S::weights(w + b * S::kBytes);
  DV_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    const typename S::Inputs inputs = S::inputs(input(c));
    DV_UNROLL
    for (int b = 0; b < kBlocks; ++b) S::multiply(&sum[c][b], weights[b], inputs);
  }
}

template <class S, int kBlocks, int kColumns>
DV_INLINE void accumulate(const unsigned char* w, ptrdiff_t step, int groups, const float* const* x,
                          typename S::Sum (&sum)[kColumns][kBlocks]) {
  const typename S::Input* in[kColumns];
  DV_UNROLL
  for (int c = 0; c < kColumns; ++c) in[c] = reinterpret_cast<const typename S::Input*>(x[c]);
  int g = 0;
  const auto input = [&in, &g](int c) { return in[c] + g * S::kGroup; };
  if constexpr (S::kExact && kColumns == 1 && kLanes == 16) {
    // Integers may be added in any order: two chains halve the wait for each sum.
    typename S::Sum odd[kColumns][kBlocks];
    DV_UNROLL
    for (int b = 0; b < kBlocks; ++b) odd[0][b] = S::zero();
    while (g + 2 <= groups) {
      accumulate_group<S, kBlocks, kColumns>(w, input, sum);
      ++g;
      accumulate_group<S, kBlocks, kColumns>(w + step, input, odd);
      ++g;
      w += 2 * step;
    }
    DV_UNROLL
    for (int b = 0; b < kBlocks; ++b) sum[0][b] = S::plus(sum[0][b], odd[0][b]);
  }
  for (; g < groups; ++g, w += step) accumulate_group<S, kBlocks, kColumns>(w, input, sum);
}

// kBlocks blocks of outputs, from `output` on, in kColumns columns. `at` is where their first group
// begins and `step` the distance to the next one, in bytes.
template <class S, int kBlocks, int kColumns, int kStage>
DV_INLINE void tile(const Matrix& m, ptrdiff_t at, ptrdiff_t at2, ptrdiff_t step, int output,
                    const Operands& o, int column) {
  const int groups = (m.inputs + S::kGroup - 1) / S::kGroup;
  const int groups2 = (m.inputs2 + S::kGroup - 1) / S::kGroup;
  // Copies, because for all that the compiler knows the stores below could change what m and o
  // hold.
  const int32_t* const offset = m.offset;
  const float* const scale = m.scale;
  const float* start[kColumns];
  float* partial[kColumns];
  float* y[kColumns];
  DV_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    start[c] = o.start[column + c] + output;
    partial[c] = kStage == kWhole ? nullptr : o.partial[column + c] + output;
    y[c] = kStage == kFirst ? nullptr : o.y[column + c] + output;
  }
  typename S::Sum sum[kColumns][kBlocks];
  DV_UNROLL
  for (int c = 0; c < kColumns; ++c) DV_UNROLL
  for (int b = 0; b < kBlocks; ++b)
    sum[c][b] = kStage == kSecond ? S::resume(partial[c] + b * kBlock)
                                  : S::begin(offset, output + b * kBlock, start[c] + b * kBlock);
  if (kStage != kSecond)
    accumulate<S, kBlocks, kColumns>(m.data + at, step, groups, o.x + column, sum);
  if (kStage != kFirst && groups2 > 0)
    accumulate<S, kBlocks, kColumns>(m.data2 + at2, step, groups2, o.x2 + column, sum);
  DV_UNROLL
  for (int b = 0; b < kBlocks; ++b) {
    const typename S::Scales scales = S::scales(scale, output + b * kBlock);
    DV_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      if (kStage == kFirst) {
        S::pause(sum[c][b], partial[c] + b * kBlock);
      } else {
        S::end(scales, start[c] + b * kBlock, sum[c][b], y[c] + b * kBlock);
      }
    }
  }
}

// Columns at a stride, whole, with few pointers. A wider tile has more products for each weight
// that it reads.
template <class S, int kBlocks, int kColumns>
DV_INLINE void accumulate_even(const unsigned char* w, ptrdiff_t step, int groups,
                               const float* from, ptrdiff_t stride,
                               typename S::Sum (&sum)[kColumns][kBlocks]) {
  const auto* x = reinterpret_cast<const typename S::Input*>(from);
  for (int g = 0; g < groups; ++g, w += step, x += S::kGroup)
    accumulate_group<S, kBlocks, kColumns>(
        w, [x, stride](int c) { return moved(x, c * stride); }, sum);
}

template <class S, int kBlocks, int kColumns>
static void even_columns(const Matrix& m, const Operands& o, int column) {
  const int groups = (m.inputs + S::kGroup - 1) / S::kGroup;
  const int groups2 = (m.inputs2 + S::kGroup - 1) / S::kGroup;
  const ptrdiff_t stride = o.stride, start_stride = o.start_stride;
  const float *const x = o.x[column], *const x2 = groups2 > 0 ? o.x2[column] : x;
  const float *const start = o.start[column], *const scale = m.scale;
  float* const y = o.y[column];
  const int32_t* const offset = m.offset;
  const unsigned char *w = m.data, *w2 = m.data2;
  for (int first = 0; first < m.outputs; first += kPanel) {
    const int width = m.outputs - first < kPanel ? m.outputs - first : kPanel;
    const ptrdiff_t step = static_cast<ptrdiff_t>(width / kBlock) * S::kBytes;
    for (int at = first; at < first + width; at += kBlocks * kBlock) {
      const ptrdiff_t block = static_cast<ptrdiff_t>((at - first) / kBlock) * S::kBytes;
      typename S::Sum sum[kColumns][kBlocks];
      DV_UNROLL
      for (int c = 0; c < kColumns; ++c) DV_UNROLL
      for (int b = 0; b < kBlocks; ++b)
        sum[c][b] =
            S::begin(offset, at + b * kBlock, moved(start + at, c * start_stride) + b * kBlock);
      accumulate_even<S, kBlocks, kColumns>(w + block, step, groups, x, stride, sum);
      if (groups2 > 0)
        accumulate_even<S, kBlocks, kColumns>(w2 + block, step, groups2, x2, stride, sum);
      typename S::Scales scales[kBlocks];
      for (int b = 0; b < kBlocks; ++b) scales[b] = S::scales(scale, at + b * kBlock);
      DV_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        const float* const begin = moved(start + at, c * start_stride);
        float* const end = moved(y + at, c * stride);
        DV_UNROLL
        for (int b = 0; b < kBlocks; ++b)
          S::end(scales[b], begin + b * kBlock, sum[c][b], end + b * kBlock);
      }
    }
    w += groups * step;
    w2 += groups2 * step;
  }
}

// Blocks whose sums stay in registers.
template <int kColumns>
constexpr int kTileBlocks = kLanes == 16       ? (kColumns == 4 ? 4 : 8)
                            : kRegisters >= 16 ? 4 / kColumns
                                               : 1;

template <class S, int kColumns, int kStage>
static inline void panel(const Matrix& m, ptrdiff_t at, ptrdiff_t at2, int first, int blocks,
                         const Operands& o, int column) {
  constexpr int kBlocks = kTileBlocks<kColumns>;
  const ptrdiff_t step = static_cast<ptrdiff_t>(blocks) * S::kBytes;
  int b = 0;
  for (; b + kBlocks <= blocks; b += kBlocks)
    tile<S, kBlocks, kColumns, kStage>(m, at + b * S::kBytes, at2 + b * S::kBytes, step,
                                       first + b * kBlock, o, column);
  if constexpr (kBlocks > 4)
    for (; b + 4 <= blocks; b += 4)
      tile<S, 4, kColumns, kStage>(m, at + b * S::kBytes, at2 + b * S::kBytes, step,
                                   first + b * kBlock, o, column);
  for (; b < blocks; ++b)
    tile<S, 1, kColumns, kStage>(m, at + b * S::kBytes, at2 + b * S::kBytes, step,
                                 first + b * kBlock, o, column);
}

template <class S, int kStage>
static void product_of(const Matrix& m, const Operands& o, int columns) {
  const int groups = (m.inputs + S::kGroup - 1) / S::kGroup;
  const int groups2 = (m.inputs2 + S::kGroup - 1) / S::kGroup;
  int even = 0;  // columns that are done
  if constexpr (S::kEven && kLanes == 16 && kStage == kWhole) {
    if (o.stride != 0 && m.outputs % (4 * kBlock) == 0) {
      for (; even + 8 <= columns; even += 8) even_columns<S, 2, 8>(m, o, even);
      for (; even + 4 <= columns; even += 4) even_columns<S, 4, 4>(m, o, even);
    }
    if (even == columns) return;
  }
  ptrdiff_t at = 0, at2 = 0;  // of the panel
  for (int first = 0; first < m.outputs; first += kPanel) {
    const int width = m.outputs - first < kPanel ? m.outputs - first : kPanel;
    const int blocks = width / kBlock;
    int c = even;
    if constexpr (kRegisters >= 16) {  // plain code has none for more than one column
      for (; c + 4 <= columns; c += 4) panel<S, 4, kStage>(m, at, at2, first, blocks, o, c);
      for (; c + 2 <= columns; c += 2) panel<S, 2, kStage>(m, at, at2, first, blocks, o, c);
    }
    for (; c < columns; ++c) panel<S, 1, kStage>(m, at, at2, first, blocks, o, c);
    at += static_cast<ptrdiff_t>(groups) * blocks * S::kBytes;
    at2 += static_cast<ptrdiff_t>(groups2) * blocks * S::kBytes;
  }
}

template <class S>
static void product_in(const Matrix& m, const Operands& o, int columns, int stage) {
  if (stage == kFirst) return product_of<S, kFirst>(m, o, columns);
  if (stage == kSecond) return product_of<S, kSecond>(m, o, columns);
  product_of<S, kWhole>(m, o, columns);
}

static void product(const Matrix& m, const Operands& o, int columns, int stage) {
  switch (m.storage) {
    case kInt8:
      return product_in<Int8Storage>(m, o, columns, stage);
    case kBfloat:
      return product_in<BfloatStorage>(m, o, columns, stage);
    case kHalf:
      if constexpr (kHalfWeights) return product_in<HalfStorage>(m, o, columns, stage);
      break;
    default:
      return product_in<FloatStorage>(m, o, columns, stage);
  }
}

// Writes `count` values, a multiple of 16, as the matrix wants its inputs; value(i) are those from
// i on.
template <class Value>
DV_INLINE void encode_each(const Matrix& m, int count, float* to, const Value& value) {
  const Vec zero = broadcast(0.0f);
  if (m.storage == kInt8) {
    const Vec inverse = broadcast(m.inverse_unit);
    const Vec low = broadcast(m.rectified ? 0.0f : -127.0f);
    const Vec high = broadcast(m.rectified ? 255.0f : 127.0f);
    const int shift = m.rectified ? kInt8RectifiedZero : kInt8Zero;
    Quantised* const codes = reinterpret_cast<Quantised*>(to);
    for (int i = 0; i < count; i += kLanes)
      store_quantised(codes + i, min(max(mul(value(i), inverse), low), high), shift);
    return;
  }
  const bool rectified = m.rectified, narrow = m.storage == kBfloat;
  for (int i = 0; i < count; i += kLanes) {
    const Vec v = rectified ? max(value(i), zero) : value(i);
    if (narrow) {
      store_bfloat(reinterpret_cast<uint16_t*>(to) + i, v);
    } else {
      store(to + i, v);
    }
  }
}

static inline void encode_inputs(const Matrix& m, const float* x, int count, float* to) {
  encode_each(m, count, to, [x](int i) { return load(x + i); });
}

// The values that encoded inputs stand for.
static inline void decode_inputs(const Matrix& m, const float* codes, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    if (m.storage == kInt8) {
      const int zero = m.rectified ? kInt8RectifiedZero : kInt8Zero;
      const Quantised* const from = reinterpret_cast<const Quantised*>(codes) + i;
      to[i] = static_cast<float>(quantised_value(from, zero)) * m.unit;
    } else if (m.storage == kBfloat) {
      const uint32_t bits = static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(codes)[i])
                            << 16;
      __builtin_memcpy(to + i, &bits, sizeof bits);
    } else {
      to[i] = codes[i];
    }
  }
}

static inline int input_bytes(const Matrix& m) {
  return m.storage == kInt8 ? static_cast<int>(sizeof(Quantised)) : m.storage == kBfloat ? 2 : 4;
}

#undef DV_UNROLL
#undef DV_INLINE
