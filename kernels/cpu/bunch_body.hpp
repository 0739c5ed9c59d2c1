// What makes a bunch of samples of the trunk's output: predictions, heads, draws. Included inside
// the instruction set's namespace, after draw_body.hpp and before wavenet_body.hpp.

constexpr float kSignalLimit = 2.0f;

// Pointers of a product, one a column, filled by the functions below.
struct Columns {
  const float* x[kMaxStreams];
  const float* x2[kMaxStreams];
  const float* start[kMaxStreams];
  float* partial[kMaxStreams];
  float* y[kMaxStreams];

  Operands operands() const { return {x, x2, start, partial, y, 0, 0}; }
  // Of streams side by side, whose working memories lie at a stride.
  Operands operands(int count) const {
    if (count < 2) return operands();
    const auto distance = [](const float* const* p) {
      return reinterpret_cast<intptr_t>(p[1]) - reinterpret_cast<intptr_t>(p[0]);
    };
    return {x, x2, start, partial, y, distance(y), distance(start)};
  }
};
static_assert(3 * kPastColumns <= kMaxStreams, "columns of the past halves of few streams");

static inline void copy(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

static inline void copy_bytes(const void* from, int64_t count, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(count));
}

static inline float compress(const WaveNetModel& m, float x) {
  return first_lane(compand(broadcast(x), m.code_scale, m.mu, m.compress_scale));
}

// One number of each stream; all of them are companded together.
struct StreamValues {
  alignas(64) float v[kMaxStreams] = {0.0f};
};
static_assert(kMaxStreams % kLanes == 0, "whole vectors");

static inline void compress_all(const WaveNetModel& m, const StreamValues& x, int count,
                                StreamValues* coded) {
  for (int b = 0; b < count; b += kLanes)
    store(coded->v + b, compand(load(x.v + b), m.code_scale, m.mu, m.compress_scale));
}

// A sample and its residual, each also companded.
struct Remembered {
  float x, coded_x, e, coded_e;
};

// Writes history entry `at` (from the oldest) of all five histories.
static inline void remember(const WaveNetModel& m, const WaveNetScratch& s, int at,
                            const Remembered& r) {
  s.signal[at] = r.x;
  s.signal_gained[at] = m.signal_gain * r.x;
  s.signal_coded[at] = r.coded_x;
  s.residual[at] = r.e;
  s.residual_coded[at] = r.coded_e;
}

// Moves the histories back by a bunch, so that the newest sample is entry kLeadIn + past - 1.
static inline void shift_histories(const WaveNetModel& m, const WaveNetScratch& s) {
  float* const all[] = {s.signal, s.signal_gained, s.signal_coded, s.residual, s.residual_coded};
  for (float* h : all) copy(h + kLeadIn + m.bunch, m.past, h + kLeadIn);
}

// Prediction of the sample after entry `end` - 1. That entry was written just now, so it is kept
// out of the vector loads.
static inline float predict(const WaveNetModel& m, const WaveNetScratch& s, int end) {
  Sums sum;
  for (int v = 0; v < kBlockVectors; ++v) sum.v[v] = broadcast(0.0f);
  const float* const older = s.signal + end - 1 - m.lpcP;
  for (int k = 0; k < m.lpcP; k += kBlock)
    for (int v = 0; v < kBlockVectors; ++v)
      sum.v[v] = fma(load(s.lpc + k + v * kLanes), load(older + k + v * kLanes), sum.v[v]);
  return s.lpc[m.lpcP] * s.signal[end - 1] + reduce_block_add(sum.v);
}

// Which samples before entry `end` a pass over a head's columns adds: those `oldest` to `newest`
// entries before it, oldest first, then the predictions if there are any.
struct HeadPass {
  int head, end, oldest, newest;
  const StreamValues *gained, *coded;  // two views of the predictions, or null
};

// One pass for outputs `j` on of kStreams streams from `first` on: each weight is read once for all
// of them.
template <int kVectors, int kStreams>
static inline void head_columns(const WaveNetModel& m, const WaveNetScratch* s, int first,
                                const HeadPass& p, int j) {
  const float* const column = m.draw[p.head] + j;
  const ptrdiff_t view = static_cast<ptrdiff_t>(m.head_history) * m.headP, width = m.headP;
  const float* history = column + (2 + m.head_history - p.oldest) * width;
  const float *gained[kStreams], *coded[kStreams], *residual[kStreams];
  float* to[kStreams];
  Vec sum[kStreams][kVectors];
  for (int b = 0; b < kStreams; ++b) {
    const WaveNetScratch& stream = s[first + b];
    gained[b] = stream.signal_gained + p.end - p.oldest;
    coded[b] = stream.signal_coded + p.end - p.oldest;
    residual[b] = stream.residual_coded + p.end - p.oldest;
    to[b] = stream.heads + p.head * width + j;
    for (int v = 0; v < kVectors; ++v) sum[b][v] = load(to[b] + v * kLanes);
  }
  const auto add_column = [&sum](const float* from, const auto& value) {
    Vec weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = load(from + v * kLanes);
    for (int b = 0; b < kStreams; ++b) {
      const Vec x = broadcast(value(b));
      for (int v = 0; v < kVectors; ++v) sum[b][v] = fma(weights[v], x, sum[b][v]);
    }
  };
  for (int i = 0; i <= p.oldest - p.newest; ++i, history += width) {
    add_column(history, [&](int b) { return gained[b][i]; });
    add_column(history + view, [&](int b) { return coded[b][i]; });
    add_column(history + 2 * view, [&](int b) { return residual[b][i]; });
  }
  if (p.gained != nullptr) {
    add_column(column, [&](int b) { return p.gained->v[first + b]; });
    add_column(column + width, [&](int b) { return p.coded->v[first + b]; });
  }
  for (int b = 0; b < kStreams; ++b)
    for (int v = 0; v < kVectors; ++v) store(to[b] + v * kLanes, sum[b][v]);
}

template <int kStreams>
static inline void head_pass_of(const WaveNetModel& m, const WaveNetScratch* s, int first,
                                const HeadPass& p) {
  int j = 0;
  for (; j + 4 * kLanes <= m.headP; j += 4 * kLanes) head_columns<4, kStreams>(m, s, first, p, j);
  for (; j < m.headP; j += kLanes) head_columns<1, kStreams>(m, s, first, p, j);
}

static inline void head_pass(const WaveNetModel& m, const WaveNetScratch* s, int count,
                             const HeadPass& p) {
  int b = 0;
  if constexpr (kRegisters == 32)  // enough for the sums of four streams
    for (; b + 4 <= count; b += 4) head_pass_of<4>(m, s, b, p);
  for (; b < count; ++b) head_pass_of<1>(m, s, b, p);
}

// What the samples before the bunch give to every head: nothing of it has to wait for a draw.
static inline void prepare_heads(const WaveNetModel& m, const WaveNetScratch* s, int count) {
  for (int i = 0; i < m.bunch && i < m.head_history; ++i)
    head_pass(m, s, count, {i, kLeadIn + m.past + i, m.head_history, i + 1, nullptr, nullptr});
}

// Predicts sample i of the bunch in every stream and computes the inputs of their output matrix.
static inline void heads(const WaveNetModel& m, const WaveNetScratch* s, int count, int i,
                         StreamValues* prediction) {
  StreamValues gained, coded;
  const int end = kLeadIn + m.past + i;
  for (int b = 0; b < count; ++b) {
    prediction->v[b] = predict(m, s[b], end);
    gained.v[b] = m.signal_gain * prediction->v[b];
  }
  compress_all(m, *prediction, count, &coded);
  head_pass(m, s, count, {i, end, i < m.head_history ? i : m.head_history, 1, &gained, &coded});
  for (int b = 0; b < count; ++b)
    encode_inputs(m.output, s[b].heads + i * m.headP, m.headP, s[b].hidden_code);
}

static inline float clip(float x) {
  const float low = x > -kSignalLimit ? x : -kSignalLimit;  // a NaN too
  return low < kSignalLimit ? low : kSignalLimit;
}

// Draws sample t of every run from the logits, or takes the given ones.
static inline void draw(const WaveNetModel& m, const WaveNetScratch* s, const WaveNetRun* runs,
                        int count, int64_t frame, int64_t t, int* codes) {
  float sum[kMaxStreams];
  for (int b = 0; b < count; ++b) {
    if (runs[b].logits != nullptr) copy(s[b].logits, m.levels, runs[b].logits + t * m.levels);
    codes[b] = runs[b].given != nullptr ? runs[b].given[t] : -1;
  }
  if (codes[0] >= 0) return;  // scored, not drawn; such runs do not share a call with others
  for (int b = 0; b < count; ++b) {
    for (int a = m.levels; a < kMaxLevels; ++a) s[b].logits[a] = -1e30f;  // never likely
    sum[b] = largest_logit(s[b].logits);
  }
  for (int b = 0; b < count; ++b)
    sum[b] = exponentiate(s[b].logits, sum[b], runs[b].temperature[frame], s[b].weights);
  for (int b = 0; b < count; ++b) take_floor(s[b].weights, runs[b].floor * sum[b], s[b].before);
  for (int b = 0; b < count; ++b) {
    codes[b] = level_at(s[b].logits, s[b].weights, s[b].before, runs[b].uniforms[t], m.levels);
    runs[b].codes[t] = static_cast<uint8_t>(codes[b]);
  }
}

// Turns the codes of sample i of the bunch, sample t of the runs, into samples.
static inline void accept(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun* runs,
                          int count, const int* codes, int64_t t, int i,
                          const StreamValues& prediction) {
  StreamValues x, coded;
  for (int b = 0; b < count; ++b) x.v[b] = clip(prediction.v[b] + m.amplitudes[codes[b]]);
  compress_all(m, x, count, &coded);
  for (int b = 0; b < count; ++b) {
    remember(m, s[b], kLeadIn + m.past + i,
             {x.v[b], coded.v[b], m.amplitudes[codes[b]], s[b].coded_amplitudes[codes[b]]});
    s[b].output = x.v[b] + m.pre_emphasis * s[b].output;
    runs[b].samples[t] = s[b].output;
  }
}

// Draws leave the second-level cache idle: a share of the weights that the next step begins with is
// fetched beside each.
static inline void fetch_ahead(const WaveNetModel& m, int sample) {
  constexpr ptrdiff_t kBytes = 16384, kLine = 64;
  const ptrdiff_t first = kBytes * sample / m.bunch, last = kBytes * (sample + 1) / m.bunch;
  const ptrdiff_t end = m.step_bytes < last ? m.step_bytes : last;
  for (ptrdiff_t at = first / kLine * kLine; at < end; at += kLine)
    __builtin_prefetch(m.input.data + at);
}

static void bunch(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun* runs, int count,
                  int64_t frame, int64_t t) {
  Columns c;
  StreamValues prediction;
  int codes[kMaxStreams];
  prepare_heads(m, s, count);
  for (int b = 0; b < count; ++b) {
    c.x[b] = s[b].hidden_code;
    c.start[b] = m.output_bias;
    c.y[b] = s[b].logits;
  }
  for (int i = 0; i < m.bunch; ++i) {
    fetch_ahead(m, i);
    heads(m, s, count, i, &prediction);
    product(m.output, c.operands(count), count, kWhole);
    draw(m, s, runs, count, frame, t + i, codes);
    accept(m, s, runs, count, codes, t + i, i, prediction);
  }
  for (int b = 0; b < count; ++b) shift_histories(m, s[b]);
}
